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

// Tx is a struct of stores bound to one transaction.
type Tx struct {
	// Now is the transaction start on the database clock, in UTC.
	Now        time.Time
	Owners     Owners
	Endpoints  Endpoints
	Deliveries Deliveries
	Outbox     core.Outbox
	AuditLog   core.AuditLog
}

// Owners stores which endpoints an owner has.
type Owners interface {
	// Lock locks and loads the endpoints of an owner: none is added and no URL changes
	// until the transaction ends.
	Lock(ctx context.Context, owner string) ([]*Endpoint, error)
}

// Endpoints stores endpoints.
type Endpoints interface {
	// Get loads an endpoint, or returns [core.ErrNotFound].
	Get(ctx context.Context, id int64) (*Endpoint, error)
	// Lock locks and loads an endpoint. It returns [core.ErrNotFound], or
	// [core.ErrNotGranted] before any wait for a lock.
	Lock(ctx context.Context, id int64, grant core.Grant) (*Endpoint, error)
	// List returns the endpoints that the grant covers, newest first, one more than the
	// page limit.
	List(ctx context.Context, grant core.Grant, page core.Page) ([]*Endpoint, error)
	// Save inserts a new endpoint or updates an existing one.
	Save(ctx context.Context, e *Endpoint) error
	// Delete deletes a locked endpoint with its deliveries.
	Delete(ctx context.Context, id int64) error
}

// Deliveries stores deliveries.
type Deliveries interface {
	// Lock locks and loads a delivery of an endpoint, or returns [core.ErrNotFound].
	Lock(ctx context.Context, endpointID, id int64) (*Delivery, error)
	// List returns deliveries, newest first, one more than the page limit.
	List(ctx context.Context, f Filter, page core.Page) ([]*Delivery, error)
	// Add inserts the delivery of an event that is not in the outbox. It sets ID and
	// EventID.
	Add(ctx context.Context, e core.Event, d *Delivery) error
	// Save updates a delivery.
	Save(ctx context.Context, d *Delivery) error
}

// Filter selects deliveries of an endpoint. An empty status does not restrict them.
type Filter struct {
	EndpointID int64
	Status     Status
}
