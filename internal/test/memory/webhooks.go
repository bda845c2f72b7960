package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/webhook"
)

// endpoints implements [webhook.Endpoints].
type endpoints struct{ *tx }

// Get returns an endpoint.
func (t endpoints) Get(_ context.Context, id int64) (*webhook.Endpoint, error) {
	return find(t.endpoints, id)
}

// Lock returns an endpoint. The transaction already has exclusive access to everything.
func (t endpoints) Lock(ctx context.Context, id int64) (*webhook.Endpoint, error) {
	return t.Get(ctx, id)
}

// LockOwner returns the endpoints of an owner.
func (t endpoints) LockOwner(_ context.Context, owner string) ([]*webhook.Endpoint, error) {
	return list(t.endpoints, func(e *webhook.Endpoint) bool { return e.Owner == owner }, endpointAt, all), nil
}

// List returns a page of the endpoints that the grant covers and one more, newest first.
func (t endpoints) List(_ context.Context, g core.Grant, page core.Page) ([]*webhook.Endpoint, error) {
	return list(t.endpoints, func(e *webhook.Endpoint) bool { return g.Covers(e.Owners()) }, endpointAt, page), nil
}

// Save inserts or updates an endpoint. Nothing reads a secret again.
func (t endpoints) Save(_ context.Context, e *webhook.Endpoint) error {
	if e.ID == 0 {
		e.ID = t.store.lastID.Add(1)
	}
	if has(t.endpoints, func(o *webhook.Endpoint) bool { return o.Owner == e.Owner && o.URL == e.URL && o.ID != e.ID }) {
		return duplicate("endpoint of an owner with one URL")
	}
	stored := copyOf(e)
	stored.NewSecret, stored.EventTypes = "", slices.Clone(e.EventTypes)
	stored.CreatedAt, stored.UpdatedAt = stamp(e.CreatedAt), stamp(e.UpdatedAt)
	stored.FailingSince, stored.DisabledAt, stored.PreviousUntil = stamp(e.FailingSince), stamp(e.DisabledAt), time.Time{}
	t.endpoints[e.ID] = stored
	return nil
}

// Delete deletes an endpoint with its deliveries.
func (t endpoints) Delete(_ context.Context, id int64) error {
	delete(t.endpoints, id)
	for key, d := range t.deliveries {
		if d.EndpointID == id {
			delete(t.deliveries, key)
		}
	}
	return nil
}

func endpointAt(e *webhook.Endpoint) core.Position {
	return core.Position{CreatedAt: e.CreatedAt, ID: e.ID}
}

// deliveries implements [webhook.Deliveries].
type deliveries struct{ *tx }

// List returns a page of deliveries and one more, newest first.
func (t deliveries) List(_ context.Context, f webhook.Filter, page core.Page) ([]*webhook.Delivery, error) {
	at := func(d *webhook.Delivery) core.Position { return core.Position{CreatedAt: d.CreatedAt, ID: d.ID} }
	matches := func(d *webhook.Delivery) bool {
		return d.EndpointID == f.EndpointID && (f.Status == "" || d.Status == f.Status)
	}
	return list(t.deliveries, matches, at, page), nil
}

// Add inserts a delivery, due now.
func (t deliveries) Add(ctx context.Context, endpointID int64, e core.Event, now time.Time) (*webhook.Delivery, error) {
	id := t.store.lastID.Add(1)
	d := &webhook.Delivery{ID: id, EndpointID: endpointID, EventID: uuidOf(id), EventType: e.Type, CreatedAt: stamp(now)}
	t.deliveries[id] = d
	return t.Retry(ctx, endpointID, id, now)
}

// Retry makes a delivery due now.
func (t deliveries) Retry(_ context.Context, endpointID, id int64, now time.Time) (*webhook.Delivery, error) {
	d, err := find(t.deliveries, id)
	if err != nil || d.EndpointID != endpointID {
		return nil, cmp.Or(err, core.ErrNotFound)
	}
	d.Status, d.Attempts, d.NextAttemptAt, d.FinishedAt, d.Last = webhook.Pending, 0, stamp(now), time.Time{}, webhook.Outcome{}
	t.deliveries[id] = copyOf(d)
	return d, nil
}

// Record saves the outcome of the last attempt.
func (t deliveries) Record(_ context.Context, d *webhook.Delivery) error {
	stored, found := t.deliveries[d.ID]
	if !found || stored.Status != webhook.Pending || stored.Attempts != d.Attempts {
		return nil
	}
	stored = copyOf(stored)
	stored.Status, stored.Last = d.Status, d.Last
	stored.NextAttemptAt, stored.FinishedAt, stored.Last.RetryAfter = stamp(d.NextAttemptAt), stamp(d.FinishedAt), 0
	t.deliveries[d.ID] = stored
	return nil
}
