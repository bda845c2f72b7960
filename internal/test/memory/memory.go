// Package memory keeps everything in memory: a fake of the PostgreSQL adapter for
// tests of the core. It passes the same test suite (internal/test/store).
//
// Transactions run one after the other. Each works on a copy of the state. A commit
// replaces the state by the copy.
package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/audit"
	"example.com/orders/internal/core/customer"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/core/webhook"
)

// Store is a database in memory. It is safe for concurrent use.
type Store struct {
	// Twice runs every transaction two times and rolls the first run back, as happens to
	// a transaction that loses a race. Use cases must not depend on it.
	Twice bool
	// Careless lets locks ignore the grant. Use cases must not depend on it.
	Careless bool

	clock func() time.Time
	// running holds a value while a transaction runs. It is a channel and not a mutex, so
	// that waiting ends with the context.
	running   chan struct{}
	committed atomic.Pointer[state]
	lastID    atomic.Int64
	// inUse has the keys of running first requests. It is not part of the state, so
	// that a duplicate need not wait for a transaction.
	inUse sync.Map
}

// New returns an empty store. The clock stands for the clock of the database: it decides
// when a transaction begins, and which rows have expired.
func New(clock func() time.Time) *Store {
	s := &Store{clock: clock, running: make(chan struct{}, 1)}
	s.committed.Store((&state{}).copy())
	return s
}

// Clone returns a store with the same rows and another clock.
func (s *Store) Clone(clock func() time.Time) *Store {
	clone := New(clock)
	clone.committed.Store(s.committed.Load()) // a state never changes
	clone.lastID.Store(s.lastID.Load())
	return clone
}

// Orders returns the store of the use cases about orders.
func (s *Store) Orders() order.Store { return portStore[order.Tx]{s, (*tx).orderTx} }

// Payments returns the store of the use cases about money.
func (s *Store) Payments() payment.Store { return portStore[payment.Tx]{s, (*tx).paymentTx} }

// Customers returns the store of the use cases about customers.
func (s *Store) Customers() customer.Store { return portStore[customer.Tx]{s, (*tx).customerTx} }

// Webhooks returns the store of the use cases about webhooks.
func (s *Store) Webhooks() webhook.Store { return portStore[webhook.Tx]{s, (*tx).webhookTx} }

// Audit returns the store of the use cases about the audit log.
func (s *Store) Audit() audit.Store { return portStore[audit.Tx]{s, (*tx).auditTx} }

// Events returns the outbox, in the order in which it was written.
func (s *Store) Events() []core.Event { return slices.Clone(s.committed.Load().events) }

// Entries returns the ledger entries, the oldest first.
func (s *Store) Entries() (found []payment.LedgerEntry) {
	entries := s.committed.Load().entries
	for _, id := range slices.Sorted(maps.Keys(entries)) {
		found = append(found, *entries[id])
	}
	return found
}

// AuditEntries returns the audit log, the oldest entry first.
func (s *Store) AuditEntries() []core.AuditEntry { return slices.Clone(s.committed.Load().audit) }

// portStore is a store that shows a transaction as the ports of a use case.
type portStore[T any] struct {
	store *Store
	ports func(*tx) T
}

// InTx runs fn in the transaction of ctx, or in a new one.
func (p portStore[T]) InTx(ctx context.Context, fn func(context.Context, T) error) error {
	if t, ok := ctx.Value(txKey{}).(*tx); ok {
		return fn(ctx, p.ports(t))
	}
	return p.store.transact(ctx, func(ctx context.Context, t *tx) error { return fn(ctx, p.ports(t)) })
}

// Read is InTx.
func (p portStore[T]) Read(ctx context.Context, fn func(context.Context, T) error) error {
	return p.InTx(ctx, fn)
}

// tx is one transaction. It reads and writes a copy of the state.
type tx struct {
	*state
	store *Store
	now   time.Time
}

// txKey is the key of the context value that carries the transaction.
type txKey struct{}

func (t *tx) orderTx() order.Tx {
	return order.Tx{
		Now: t.now, IDs: t, Orders: orders{t}, Reservations: reservations{t}, Products: products{t},
		StockAdjustments: stockAdjustments{t}, Outbox: outbox{t}, AuditLog: auditLog{t}, Inbox: t,
	}
}

func (t *tx) paymentTx() payment.Tx {
	return payment.Tx{
		Tx: t.orderTx(), OrderPayments: orderPayments{t}, Payments: payments{t}, Refunds: refunds{t}, Disputes: disputes{t},
		Balances: balances{t}, Ledger: ledger{t}, Intents: intents{},
	}
}

func (t *tx) customerTx() customer.Tx {
	return customer.Tx{Now: t.now, Profiles: profiles{t}, AuditLog: auditLog{t}}
}

func (t *tx) webhookTx() webhook.Tx {
	return webhook.Tx{
		Now: t.now, Endpoints: endpoints{t}, Deliveries: deliveries{t}, Outbox: outbox{t}, AuditLog: auditLog{t},
	}
}

func (t *tx) auditTx() audit.Tx { return audit.Tx{Entries: auditLog{t}, AuditLog: auditLog{t}} }

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
		_, _ = s.run(ctx, fn) // always rolled back
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

func unavailable(err error) error { return fmt.Errorf("%w: %w", core.ErrUnavailable, err) }

// duplicate returns the error of a violated unique constraint. PostgreSQL runs such a
// transaction again, because a race can be the cause, and fails with this error in the
// end.
func duplicate(what string) error { return unavailable(fmt.Errorf("a second %s", what)) }
