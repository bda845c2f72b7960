package postgres

import (
	"context"
	"errors"
	"maps"
	"slices"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
)

// savedRows are the rows of the business that the members of a group have changed. Of rows
// that may change more than once it has the names; the rows are in the loaded state.
type savedRows struct {
	stock       changedRows[string, order.Product]
	newBalances changedRows[balanceKey, payment.Balance]
	oldBalances changedRows[balanceKey, payment.Balance]
	oldOrders   changedRows[int64, order.Order]

	newOrders   []savedOrder
	newPayments []savedPayment
	entries     []appendedEntry
}

// changedRows are names of rows, each once, in the sequence of their first change. Of each
// they have what the group has read: its write fails if the row is another by then.
type changedRows[K comparable, V any] struct {
	names []K
	read  map[K]*V
}

// add adds a row as it was before the change.
func (c *changedRows[K, V]) add(k K, before *V) {
	if c.has(k) {
		return
	}
	if c.read == nil {
		c.read = map[K]*V{}
	}
	c.read[k] = before
	c.names = append(c.names, k)
}

func (c *changedRows[K, V]) has(k K) bool {
	_, has := c.read[k]
	return has
}

// errMixed ends the run of a member whose order another one has changed in a way that the
// loaded state does not show.
var errMixed = errors.New("another member has changed the order")

// cannotJoin reports whether a member must run alone because of what it wants.
func cannotJoin(err error) bool { return errors.Is(err, errNotJoined) || errors.Is(err, errMixed) }

// holds reports whether the group has locked the rows that m has changed. It cannot tell
// which rows a plain statement is about, other than those of the order that m has loaded.
func (g *group) holds(m *member) bool {
	if m.wants == nil {
		return len(m.changes) == 0
	}
	return !slices.ContainsFunc(m.changes, func(c change) bool {
		switch c := c.(type) {
		case statement:
			_, ofOrder := m.wants.(orderWant)
			return !ofOrder
		case savedOrder:
			return !c.New && g.orders[c.ID] == nil
		case savedBalance:
			return !c.New && g.balances[balanceKey{c.CustomerID, c.Amount.Currency()}] == nil
		case savedStock:
			return slices.ContainsFunc(slices.Collect(maps.Keys(c)), func(sku string) bool { return g.products[sku] == nil })
		}
		return false
	})
}

// wroteStatements keeps later members from an order of which m has written more than the
// loaded state shows.
func (g *group) wroteStatements(m *member) {
	if w, ok := m.wants.(orderWant); ok {
		g.mixed[w.id] = true
	}
}

// writeRows queues the rows of the business. Rows come after those that they refer to.
func (g *group) writeRows(ctx context.Context, q *dbsqlc.Queries) error {
	err := errors.Join(g.writeStock(ctx, q), g.writeOrders(ctx, q), g.writePayments(ctx, q))
	g.tx.queued = append(g.tx.queued, g.statements...)
	return errors.Join(err, g.writeEntries(ctx, q), g.writeBalances(ctx, q))
}

func (g *group) writeStock(ctx context.Context, q *dbsqlc.Queries) error {
	if len(g.stock.names) == 0 {
		return nil
	}
	var many dbsqlc.UpdateStockOfManyParams
	for _, sku := range g.stock.names {
		p, read := g.products[sku], g.stock.read[sku]
		many.Skus, many.Versions = append(many.Skus, sku), append(many.Versions, p.Version)
		many.OnHand, many.Reserved = append(many.OnHand, p.OnHand), append(many.Reserved, p.Reserved)
		many.ReadVersions, many.ReadReserved = append(many.ReadVersions, read.Version), append(many.ReadReserved, read.Reserved)
	}
	return q.UpdateStockOfMany(ctx, many)
}

func (g *group) writeOrders(ctx context.Context, q *dbsqlc.Queries) error {
	var err error
	if len(g.newOrders) > 0 {
		rows, items := newOrdersParams(g.newOrders)
		err = errors.Join(q.InsertOrders(ctx, rows), q.InsertItemsOfOrders(ctx, items))
	}
	if len(g.oldOrders.names) == 0 {
		return err
	}
	var many dbsqlc.UpdateOrdersParams
	for _, id := range g.oldOrders.names {
		o := g.orders[id]
		c := valueOf(o.Cancellation)
		many.Ids, many.Statuses = append(many.Ids, o.ID), append(many.Statuses, string(o.Status))
		many.ReservedUntil, many.UpdatedAt = append(many.ReservedUntil, o.ReservedUntil), append(many.UpdatedAt, o.UpdatedAt)
		many.Versions, many.ReadVersions = append(many.Versions, int64(o.Version)), append(many.ReadVersions, int64(g.oldOrders.read[id].Version))
		many.CancelledBy, many.CancelKeys = append(many.CancelledBy, c.By.Actor), append(many.CancelKeys, c.By.Key)
		many.CancelReasons = append(many.CancelReasons, c.Reason)
	}
	return errors.Join(err, q.UpdateOrders(ctx, many))
}

func (g *group) writePayments(ctx context.Context, q *dbsqlc.Queries) error {
	switch len(g.newPayments) {
	case 0:
		return nil
	case 1:
		return g.newPayments[0].alone(ctx, q)
	}
	return q.InsertPayments(ctx, newPaymentsParams(g.newPayments))
}

func (g *group) writeEntries(ctx context.Context, q *dbsqlc.Queries) error {
	switch len(g.entries) {
	case 0:
		return nil
	case 1:
		return g.entries[0].alone(ctx, q)
	}
	return q.InsertLedgerEntries(ctx, entriesParams(g.entries))
}

func (g *group) writeBalances(ctx context.Context, q *dbsqlc.Queries) error {
	var err error
	if len(g.newBalances.names) > 0 {
		err = q.InsertBalances(ctx, g.balancesParams(g.newBalances.names))
	}
	if len(g.oldBalances.names) > 0 {
		p := g.balancesParams(g.oldBalances.names)
		many := dbsqlc.UpdateBalancesParams{
			CustomerIds: p.CustomerIds, Currencies: p.Currencies, Amounts: p.Amounts, Positions: p.Positions, ChangedAt: p.ChangedAt,
		}
		for _, k := range g.oldBalances.names {
			many.ReadPositions = append(many.ReadPositions, g.oldBalances.read[k].Position)
		}
		err = errors.Join(err, q.UpdateBalances(ctx, many))
	}
	return err
}

func (g *group) balancesParams(keys []balanceKey) dbsqlc.InsertBalancesParams {
	var p dbsqlc.InsertBalancesParams
	for _, k := range keys {
		b := g.balances[k]
		p.CustomerIds, p.Currencies = append(p.CustomerIds, b.CustomerID), append(p.Currencies, string(b.Amount.Currency()))
		p.Amounts, p.Positions = append(p.Amounts, b.Amount.Decimal()), append(p.Positions, b.Position)
		p.ChangedAt = append(p.ChangedAt, b.ChangedAt)
	}
	return p
}
