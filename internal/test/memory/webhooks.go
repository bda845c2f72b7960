package memory

import (
	"context"
	"slices"
	"time"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/webhook"
)

// owners implements [webhook.Owners].
type owners struct{ *tx }

// Lock returns the endpoints of an owner. The transaction already has exclusive access to
// everything.
func (t owners) Lock(_ context.Context, owner string) ([]*webhook.Endpoint, error) {
	return list(t.endpoints, func(e *webhook.Endpoint) bool { return e.Owner == owner }, endpointAt, all), nil
}

// endpoints implements [webhook.Endpoints].
type endpoints struct{ *tx }

// Get returns an endpoint.
func (t endpoints) Get(_ context.Context, id int64) (*webhook.Endpoint, error) {
	return find(t.endpoints, id)
}

// Lock returns an endpoint that the grant covers.
func (t endpoints) Lock(_ context.Context, id int64, g core.Grant) (*webhook.Endpoint, error) {
	e, err := find(t.endpoints, id)
	if err == nil && !t.store.admits(g, e.Owners()) {
		return nil, core.ErrNotGranted
	}
	return e, err
}

// List returns a page of the endpoints that the grant covers and one more, newest first.
func (t endpoints) List(_ context.Context, g core.Grant, page core.Page) ([]*webhook.Endpoint, error) {
	return list(t.endpoints, func(e *webhook.Endpoint) bool { return g.Covers(e.Owners()) }, endpointAt, page), nil
}

// Save inserts or updates an endpoint. Nothing reads a secret again.
func (t endpoints) Save(_ context.Context, e *webhook.Endpoint) error {
	if e.New {
		e.ID = t.store.lastID.Add(1)
	}
	if has(t.endpoints, func(o *webhook.Endpoint) bool { return o.Owner == e.Owner && o.URL == e.URL && o.ID != e.ID }) {
		return duplicate("endpoint of an owner with one URL")
	}
	stored := copyOf(e)
	stored.New, stored.NewSecret, stored.EventTypes = false, "", slices.Clone(e.EventTypes)
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

// Lock returns a delivery of an endpoint.
func (t deliveries) Lock(_ context.Context, endpointID, id int64) (*webhook.Delivery, error) {
	d, err := find(t.deliveries, id)
	if err == nil && d.EndpointID != endpointID {
		return nil, core.ErrNotFound
	}
	return d, err
}

// List returns a page of deliveries and one more, newest first.
func (t deliveries) List(_ context.Context, f webhook.Filter, page core.Page) ([]*webhook.Delivery, error) {
	at := func(d *webhook.Delivery) core.Position { return core.Position{CreatedAt: d.CreatedAt, ID: d.ID} }
	matches := func(d *webhook.Delivery) bool {
		return d.EndpointID == f.EndpointID && (f.Status == "" || d.Status == f.Status)
	}
	return list(t.deliveries, matches, at, page), nil
}

// Add inserts a delivery.
func (t deliveries) Add(ctx context.Context, _ core.Event, d *webhook.Delivery) error {
	d.ID = t.store.lastID.Add(1)
	d.EventID = uuidOf(d.ID)
	return t.Save(ctx, d)
}

// Save updates a delivery.
func (t deliveries) Save(_ context.Context, d *webhook.Delivery) error {
	stored := copyOf(d)
	stored.CreatedAt, stored.NextAttemptAt, stored.FinishedAt = stamp(d.CreatedAt), stamp(d.NextAttemptAt), stamp(d.FinishedAt)
	stored.Last.RetryAfter = 0
	t.deliveries[d.ID] = stored
	return nil
}
