package postgres

import (
	"context"
	"errors"
	"slices"

	"example.com/orders/internal/adapters/out/postgres/group"
	"example.com/orders/internal/adapters/out/postgres/pgtx"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
)

// changed holds the changes of a transaction. Rows that may change more than once are
// here by key; the rows themselves are in the loaded state.
type changed struct {
	stock       changedRows[string, order.Product]
	newBalances changedRows[balanceKey, payment.Balance]
	oldBalances changedRows[balanceKey, payment.Balance]
	oldOrders   changedRows[int64, order.Order]

	newOrders   []savedOrder
	newPayments []savedPayment
	entries     []appendedEntry
	events      []addedEvent
	audited     []addedAuditEntry
	// statements write rows for one command.
	statements []statement
}

// changedRows holds row keys without duplicates, in order of their first change. It
// keeps each row as read, because a write fails if the row has changed since.
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

// errNotLocked reports a change to a row that the command has not locked.
var errNotLocked = errors.New("a changed row has not been locked")

// Keep implements [group.Session].
func (s *session) Keep() error {
	if !s.batch.holds(s) {
		if s.batch.shared {
			return group.ErrNotJoined
		}
		return errNotLocked
	}
	l, ofOrder := s.announced.(orderLoad)
	for _, c := range s.changes {
		c.join(s.batch)
		if _, is := c.(statement); is && ofOrder {
			s.batch.incomplete[l.id] = true // the loaded state does not show it
		}
	}
	return nil
}

// holds reports whether the batch has locked the rows that a command changed. A
// statement does not name its rows: in a shared batch, it counts as one about the
// command's order.
func (b *batch) holds(s *session) bool {
	if b.shared && s.announced == nil {
		return len(s.changes) == 0
	}
	return !slices.ContainsFunc(s.changes, func(c change) bool {
		switch c := c.(type) {
		case statement:
			_, ofOrder := s.announced.(orderLoad)
			return b.shared && !ofOrder
		case savedOrder:
			return !c.New && b.orders[c.ID] == nil
		case savedBalance:
			return !c.New && b.balances[balanceKey{c.CustomerID, c.Amount.Currency()}] == nil
		case savedStock:
			for sku := range c {
				if b.products[sku] == nil {
					return true
				}
			}
		}
		return false
	})
}

// Write implements [group.Batch]. Rows follow the rows they refer to.
func (b *batch) Write(ctx context.Context) error {
	q := b.tx.Writes()
	err := errors.Join(
		pgtx.WriteRows(ctx, b.stock.names, q.UpdateStockOfMany, b.stockParams),
		pgtx.WriteRows(ctx, b.newOrders, q.InsertOrders, newOrdersParams),
		pgtx.WriteRows(ctx, b.newOrders, q.InsertItemsOfOrders, itemsParams),
		pgtx.WriteOneOrMany(ctx, b.oldOrders.names, q.UpdateOrder, b.oldOrderParams, q.UpdateOrders, b.oldOrdersParams),
		pgtx.WriteRows(ctx, b.newPayments, q.InsertPayments, newPaymentsParams),
	)
	for _, s := range b.statements {
		err = errors.Join(err, b.tx.Queue(s.sql, s.args))
	}
	err = errors.Join(
		err,
		pgtx.WriteOneOrMany(ctx, b.entries, q.InsertLedgerEntry, entryParams, q.InsertLedgerEntries, entriesParams),
		pgtx.WriteRows(ctx, b.newBalances.names, q.InsertBalances, b.newBalancesParams),
		pgtx.WriteOneOrMany(ctx, b.oldBalances.names, q.UpdateBalance, b.oldBalanceParams, q.UpdateBalances, b.oldBalancesParams),
		pgtx.WriteOneOrMany(ctx, b.events, q.InsertEvent, addedEvent.params, q.InsertEvents, eventsParams),
		pgtx.WriteRows(ctx, b.audited, q.InsertAuditEntries, auditParams),
	)
	b.changed = changed{}
	return err
}
