package postgres

import (
	"context"
	"errors"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
)

// savedRows are the rows of the business that the members of a group have changed. Of rows
// that may change more than once it has the names; the rows are in the loaded state.
type savedRows struct {
	stock       names[string]
	newBalances names[balanceKey]
	oldBalances names[balanceKey]
	oldOrders   names[int64]

	newOrders   []savedOrder
	newPayments []savedPayment
	entries     []appendedEntry
}

// names are names of rows, each once, in the sequence of their first change.
type names[K comparable] struct {
	list []K
	set  map[K]bool
}

func (n *names[K]) add(k K) {
	if n.set[k] {
		return
	}
	if n.set == nil {
		n.set = map[K]bool{}
	}
	n.set[k] = true
	n.list = append(n.list, k)
}

// errMixed ends the run of a member whose order another one has changed in a way that the
// loaded state does not show.
var errMixed = errors.New("another member has changed the order")

// cannotJoin reports whether a member must run alone because of what it wants.
func cannotJoin(err error) bool { return errors.Is(err, errNotJoined) || errors.Is(err, errMixed) }

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
	changed := make([]*order.Product, len(g.stock.list))
	for i, sku := range g.stock.list {
		changed[i] = g.products[sku]
	}
	if len(changed) == 0 {
		return nil
	}
	p := stockParams(changed)
	return q.UpdateStockOfMany(ctx, dbsqlc.UpdateStockOfManyParams{
		Skus: p.Skus, OnHand: p.OnHand, Reserved: p.Reserved, Versions: p.Versions,
	})
}

func (g *group) writeOrders(ctx context.Context, q *dbsqlc.Queries) error {
	var err error
	if len(g.newOrders) > 0 {
		rows, items := newOrdersParams(g.newOrders)
		err = errors.Join(q.InsertOrders(ctx, rows), q.InsertItemsOfOrders(ctx, items))
	}
	var many dbsqlc.UpdateOrdersParams
	for _, id := range g.oldOrders.list {
		o := g.orders[id]
		if o.Cancellation != nil { // it has columns that the statement for many leaves out
			err = errors.Join(err, savedOrder{o}.alone(ctx, q))
			continue
		}
		many.Ids, many.Statuses = append(many.Ids, o.ID), append(many.Statuses, string(o.Status))
		many.ReservedUntil, many.Versions = append(many.ReservedUntil, o.ReservedUntil), append(many.Versions, int64(o.Version))
		many.UpdatedAt = append(many.UpdatedAt, o.UpdatedAt)
	}
	if len(many.Ids) > 0 {
		err = errors.Join(err, q.UpdateOrders(ctx, many))
	}
	return err
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
	params := func(keys []balanceKey) dbsqlc.UpdateBalancesParams {
		changed := make([]*payment.Balance, len(keys))
		for i, k := range keys {
			changed[i] = g.balances[k]
		}
		return balancesParams(changed)
	}
	var err error
	if inserted := g.newBalances.list; len(inserted) > 0 {
		err = q.InsertBalances(ctx, dbsqlc.InsertBalancesParams(params(inserted)))
	}
	if updated := g.oldBalances.list; len(updated) > 0 {
		err = errors.Join(err, q.UpdateBalances(ctx, params(updated)))
	}
	return err
}
