// Package memory keeps everything in memory: a fake of the PostgreSQL adapter for
// tests of the core. It passes the same test suite (internal/test/store).
//
// Transactions run one after the other. Each works on a copy of the state. A commit
// replaces the state by the copy.
package memory

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/audit"
	"example.com/orders/internal/core/customer"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
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
	inUse     inUse
}

// New returns an empty store. The clock stands for the clock of the database: it decides
// when a transaction begins, and what has expired.
func New(clock func() time.Time) *Store {
	s := &Store{clock: clock, running: make(chan struct{}, 1)}
	s.committed.Store((&state{}).copy())
	return s
}

// Orders returns the store of the use cases about orders.
func (s *Store) Orders() order.Store { return orderStore{s} }

// Payments returns the store of the use cases about money.
func (s *Store) Payments() payment.Store { return paymentStore{s} }

// Customers returns the store of the use cases about customers.
func (s *Store) Customers() customer.Store { return customerStore{s} }

// Audit returns the store of the use cases about the audit log.
func (s *Store) Audit() audit.Store { return auditStore{s} }

// Intents returns the jobs for the card provider, in the order in which they were added.
func (s *Store) Intents() []Intent { return slices.Clone(s.committed.Load().intents) }

// Events returns the outbox, in the order in which it was written.
func (s *Store) Events() []core.Event {
	found := slices.Clone(s.committed.Load().events)
	for i := range found {
		found[i].Data = maps.Clone(found[i].Data)
	}
	return found
}

type orderStore struct{ s *Store }

func (o orderStore) InTx(ctx context.Context, fn func(context.Context, order.Tx) error) error {
	return o.s.inTx(ctx, func(ctx context.Context, t *tx) error { return fn(ctx, t.orderTx()) })
}

func (o orderStore) Read(ctx context.Context, fn func(context.Context, order.Tx) error) error {
	return o.InTx(ctx, fn)
}

func (o orderStore) ReadStale(ctx context.Context, fn func(context.Context, order.Tx) error) error {
	return o.InTx(ctx, fn)
}

type paymentStore struct{ s *Store }

func (p paymentStore) InTx(ctx context.Context, fn func(context.Context, payment.Tx) error) error {
	return p.s.inTx(ctx, func(ctx context.Context, t *tx) error { return fn(ctx, t.paymentTx()) })
}

func (p paymentStore) Read(ctx context.Context, fn func(context.Context, payment.Tx) error) error {
	return p.InTx(ctx, fn)
}

type customerStore struct{ s *Store }

func (c customerStore) InTx(ctx context.Context, fn func(context.Context, customer.Tx) error) error {
	return c.s.inTx(ctx, func(ctx context.Context, t *tx) error { return fn(ctx, t.customerTx()) })
}

func (c customerStore) Read(ctx context.Context, fn func(context.Context, customer.Tx) error) error {
	return c.InTx(ctx, fn)
}

// AuditEntries returns the audit log, the oldest entry first.
func (s *Store) AuditEntries() []core.AuditEntry {
	found := slices.Clone(s.committed.Load().audit)
	for i := range found {
		found[i] = copyEntry(found[i])
	}
	return found
}

type auditStore struct{ s *Store }

func (a auditStore) InTx(ctx context.Context, fn func(context.Context, audit.Tx) error) error {
	return a.s.inTx(ctx, func(ctx context.Context, t *tx) error {
		return fn(ctx, audit.Tx{Entries: auditEntries{t}, AuditLog: auditLog{t}})
	})
}

func copyEntry(e core.AuditEntry) core.AuditEntry {
	e.Metadata = maps.Clone(e.Metadata)
	return e
}
