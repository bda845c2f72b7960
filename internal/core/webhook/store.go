package webhook

import (
	"context"
	"time"

	"example.com/orders/internal/core"
)

// Store opens transactions, which commit when fn returns nil. fn may run twice.
type Store interface {
	InTx(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
	// Read is InTx for a use case that writes only to the audit log. It never waits for
	// transactions that write.
	Read(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
}

// Tx holds stores bound to one transaction.
type Tx struct {
	// Now is the transaction start on the database clock, in UTC.
	Now        time.Time
	Endpoints  Endpoints
	Deliveries Deliveries
	Outbox     core.Outbox
	AuditLog   core.AuditLog
}

// Endpoints stores endpoints.
type Endpoints interface {
	// Get loads an endpoint, or returns [core.ErrNotFound].
	Get(ctx context.Context, id int64) (*Endpoint, error)
	// Lock locks and loads an endpoint, or returns [core.ErrNotFound].
	Lock(ctx context.Context, id int64) (*Endpoint, error)
	// LockOwner loads the owner's endpoints: none is added and no URL changes until
	// the transaction ends.
	LockOwner(ctx context.Context, owner string) ([]*Endpoint, error)
	// List returns the endpoints that the grant covers, newest first, one more than the
	// page limit.
	List(ctx context.Context, grant core.Grant, page core.Page) ([]*Endpoint, error)
	// Save updates an endpoint, or inserts one without ID, which it sets.
	Save(ctx context.Context, e *Endpoint) error
	// Delete deletes an endpoint with its deliveries.
	Delete(ctx context.Context, id int64) error
}

// Deliveries stores deliveries.
type Deliveries interface {
	// List returns deliveries, newest first, one more than the page limit.
	List(ctx context.Context, f Filter, page core.Page) ([]*Delivery, error)
	// Add inserts a delivery, due now, for an event that is not in the outbox.
	Add(ctx context.Context, endpointID int64, e core.Event, now time.Time) (*Delivery, error)
	// Retry makes an endpoint's delivery due now, with no attempt counted, or returns
	// [core.ErrNotFound].
	Retry(ctx context.Context, endpointID, id int64, now time.Time) (*Delivery, error)
	// Record saves how the last attempt ended, and leaves a delivery alone that has
	// been decided, or attempted again, meanwhile.
	Record(ctx context.Context, d *Delivery) error
}

// Filter selects an endpoint's deliveries. An empty status does not restrict them.
type Filter struct {
	EndpointID int64
	Status     Status
}
