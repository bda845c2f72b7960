// Package memory keeps everything in memory: a fake of the PostgreSQL adapter for
// tests of the core. It passes the same suite (internal/storetest), and is as small as
// that lets it be.
//
// Transactions are serial. Each works on a copy of the state that replaces the old one
// at its end, or does not.
package memory

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/customer"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
)

// Store is a database in memory. All its methods may be called at once.
type Store struct {
	// Twice makes every transaction run two times, of which the second counts: what
	// happens to one that loses a race. Use cases must not event.
	Twice bool

	clock func() time.Time
	// turn is taken by the transaction that runs. A channel and not a mutex, so that
	// whoever waits can give up.
	turn      chan struct{}
	committed atomic.Pointer[state]
	lastID    atomic.Int64
	inUse     inUse
}

// New makes an empty store. The clock is the database's: it says when a transaction
// begins, and what has expired.
func New(clock func() time.Time) *Store {
	s := &Store{clock: clock, turn: make(chan struct{}, 1)}
	s.committed.Store((&state{}).copy())
	return s
}

// Orders gives the store of the use cases about orders.
func (s *Store) Orders() order.Store { return orderStore{s} }

// Payments gives the store of the use cases about money.
func (s *Store) Payments() payment.Store { return paymentStore{s} }

// Customers gives the store of the use cases about customers.
func (s *Store) Customers() customer.Store { return customerStore{s} }

// Intents gives the questions to the card provider, in the order they were noted in.
func (s *Store) Intents() []Intent { return slices.Clone(s.committed.Load().intents) }

// Events gives the outbox, in the order it was written in.
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

type paymentStore struct{ s *Store }

func (p paymentStore) InTx(ctx context.Context, fn func(context.Context, payment.Tx) error) error {
	return p.s.inTx(ctx, func(ctx context.Context, t *tx) error { return fn(ctx, t.paymentTx()) })
}

type customerStore struct{ s *Store }

func (c customerStore) InTx(ctx context.Context, fn func(context.Context, customer.Tx) error) error {
	return c.s.inTx(ctx, func(ctx context.Context, t *tx) error { return fn(ctx, t.customerTx()) })
}

// Entries gives a page of the audit log and one entry more, newest first; see
// [audit.Log].
func (s *Store) Entries(_ context.Context, page core.Page) ([]core.AuditEntry, error) {
	var rows []row[core.AuditEntry]
	for _, e := range slices.Backward(s.committed.Load().audit) {
		rows = append(rows, row[core.AuditEntry]{core.Position{CreatedAt: e.At, ID: e.ID}, e})
	}
	return pageOf(rows, page, copyEntry), nil
}

func copyEntry(e core.AuditEntry) core.AuditEntry {
	e.Metadata = maps.Clone(e.Metadata)
	return e
}
