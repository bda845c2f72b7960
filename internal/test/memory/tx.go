package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/customer"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
)

// tx is one transaction. It reads and writes a state of its own.
type tx struct {
	*state
	store *Store
	now   time.Time
}

// txKey is the key of the context value that carries the transaction.
type txKey struct{}

func (t *tx) orderTx() order.Tx {
	return order.Tx{Now: t.now, IDs: t, Orders: orders{t}, Reservations: reservations{t}, Products: products{t}, StockAdjustments: stockAdjustments{t}, Outbox: outbox{t}, AuditLog: auditLog{t}, Inbox: t}
}

func (t *tx) paymentTx() payment.Tx {
	return payment.Tx{Tx: t.orderTx(), OrderPayments: orderPaymentsStore{t}, Payments: payments{t}, Refunds: refunds{t}, Balances: balances{t}, Ledger: ledger{t}, Intents: intents{t}}
}

func (t *tx) customerTx() customer.Tx {
	return customer.Tx{Now: t.now, Profiles: profiles{t}, AuditLog: auditLog{t}}
}

// admits reports whether a lock may be taken.
func (s *Store) admits(g core.Grant, owners core.Owners) bool { return s.Careless || g.Covers(owners) }

// inTx runs fn in the transaction of ctx, or in a new one if ctx has none.
func (s *Store) inTx(ctx context.Context, fn func(context.Context, *tx) error) error {
	if t, ok := ctx.Value(txKey{}).(*tx); ok {
		return fn(ctx, t)
	}
	return s.transact(ctx, fn)
}

// transact waits for the other transactions, runs fn in a new one, and commits it.
func (s *Store) transact(ctx context.Context, fn func(context.Context, *tx) error) error {
	if ctx.Err() != nil {
		return unavailable(ctx.Err())
	}
	select {
	case s.running <- struct{}{}:
		defer func() { <-s.running }()
	case <-ctx.Done():
		return unavailable(ctx.Err())
	}
	if s.Twice {
		_, _ = s.run(ctx, fn) // rolled back, whatever its result
	}
	t, err := s.run(ctx, fn)
	if err != nil {
		return err
	}
	s.committed.Store(t.state)
	t.discard() // later writes to this transaction have no effect
	return nil
}

func (s *Store) run(ctx context.Context, fn func(context.Context, *tx) error) (*tx, error) {
	t := &tx{state: s.committed.Load().copy(), store: s, now: s.now()}
	if err := fn(context.WithValue(ctx, txKey{}, t), t); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, unavailable(ctx.Err())
	}
	return t, nil
}

// discard undoes every write of the transaction.
func (t *tx) discard() { t.state = t.store.committed.Load().copy() }

func (s *Store) now() time.Time { return stamp(s.clock()) }

// NextID returns an id. All sequences count together: no two kinds share an id, so a
// test notices when one is used for another.
func (t *tx) NextID(context.Context, core.Sequence) (int64, error) { return t.store.lastID.Add(1), nil }

// FirstTime records a message unless it is recorded.
func (t *tx) FirstTime(_ context.Context, source, id string) (bool, error) {
	m := message{source, id}
	first := !t.messages[m]
	t.messages[m] = true
	return first, nil
}

// intents implements [payment.Intents].
type intents struct{ *tx }

// Settle adds the job that charges the card of a payment.
func (t intents) Settle(_ context.Context, paymentID int64) error {
	t.intents = append(t.intents, Intent{"settle_payment", paymentID})
	return nil
}

// SettleRefund adds the job that refunds to a card.
func (t intents) SettleRefund(_ context.Context, refundID int64) error {
	t.intents = append(t.intents, Intent{"settle_refund", refundID})
	return nil
}

// outbox implements [core.Outbox].
type outbox struct{ *tx }

// Add appends an event to the outbox.
func (t outbox) Add(_ context.Context, e core.Event) error {
	e.Data = maps.Clone(e.Data)
	t.events = append(t.events, e)
	return nil
}

// auditLog implements [core.AuditLog].
type auditLog struct{ *tx }

// Add appends an entry to the audit log.
func (t auditLog) Add(_ context.Context, e core.AuditEntry) error {
	e = copyEntry(e)
	e.ID, e.At = int64(len(t.audit)+1), t.now
	t.audit = append(t.audit, e)
	return nil
}

// auditEntries implements [audit.Entries].
type auditEntries struct{ *tx }

// List returns a page of the audit log and one entry more, newest first.
func (t auditEntries) List(_ context.Context, page core.Page) ([]core.AuditEntry, error) {
	var rows []row[core.AuditEntry]
	for _, e := range slices.Backward(t.audit) {
		rows = append(rows, row[core.AuditEntry]{core.Position{CreatedAt: e.At, ID: e.ID}, e})
	}
	return pageOf(rows, page, copyEntry), nil
}

func unavailable(err error) error { return fmt.Errorf("%w: %w", core.ErrUnavailable, err) }

// duplicate returns the error of a violated unique constraint. PostgreSQL runs such a
// transaction again, because a race can be the cause, and fails with this error in the
// end.
func duplicate(what string) error { return unavailable(fmt.Errorf("a second %s", what)) }
