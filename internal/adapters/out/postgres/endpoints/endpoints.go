// Package endpoints stores webhook endpoints and their deliveries. A secret leaves it
// only for an attempt.
package endpoints

import (
	"context"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/adapters/out/postgres/fetch"
	"example.com/orders/internal/adapters/out/postgres/null"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/webhook"
)

type queries = dbsqlc.Queries

// Session is one command's view of a transaction that it does not share.
type Session interface {
	fetch.Session
	// Writes returns queries that are written with the next load or COMMIT.
	Writes() *queries
}

// Endpoints implements [webhook.Endpoints].
type Endpoints struct{ Session Session }

// Get loads an endpoint.
func (s Endpoints) Get(ctx context.Context, id int64) (*webhook.Endpoint, error) {
	return fetch.One(ctx, s.Session, (*queries).EndpointByID, id, endpointOf)
}

// Lock locks and loads an endpoint.
func (s Endpoints) Lock(ctx context.Context, id int64) (*webhook.Endpoint, error) {
	return fetch.One(ctx, s.Session, (*queries).LockEndpoint, id, endpointOf)
}

// LockOwner locks a name, because an owner may have no row yet. If two owners share a hash
// by chance, one waits for the other without need.
func (s Endpoints) LockOwner(ctx context.Context, owner string) ([]*webhook.Endpoint, error) {
	lock := func(ctx context.Context, q *queries) error { return q.LockOwner(ctx, owner) }
	if err := s.Session.Load(ctx, lock); err != nil {
		return nil, err
	}
	return fetch.List(ctx, s.Session, (*queries).EndpointsOfOwner, owner, endpointOf)
}

// List returns a page plus one more endpoint, newest first.
func (s Endpoints) List(ctx context.Context, g core.Grant, page core.Page) ([]*webhook.Endpoint, error) {
	before, rows := null.IfZeroTime(page.After.CreatedAt), int32(page.Limit+1)
	if g.Everybody {
		return fetch.List(ctx, s.Session, (*queries).ListEndpoints, dbsqlc.ListEndpointsParams{
			BeforeTime: before, BeforeID: page.After.ID, Rows: rows,
		}, endpointOf)
	}
	return fetch.List(ctx, s.Session, (*queries).ListEndpointsOfSeller, dbsqlc.ListEndpointsOfSellerParams{
		SellerID: null.IfZero(g.Seller), BeforeTime: before, BeforeID: page.After.ID, Rows: rows,
	}, endpointOf)
}

// Save updates an endpoint, or inserts a new one.
func (s Endpoints) Save(ctx context.Context, e *webhook.Endpoint) error {
	if e.ID == 0 {
		next := func(ctx context.Context, q *queries) (err error) { e.ID, err = q.NextEndpointID(ctx); return err }
		if err := s.Session.Load(ctx, next); err != nil {
			return err
		}
		return s.Session.Writes().InsertEndpoint(ctx, dbsqlc.InsertEndpointParams{
			ID: e.ID, Owner: e.Owner, SellerID: null.IfZero(e.SellerID), Url: e.URL, EventTypes: e.EventTypes,
			Description: e.Description, Ordered: e.Ordered, Secret: e.NewSecret, CreatedAt: e.CreatedAt,
		})
	}
	return s.Session.Writes().UpdateEndpoint(ctx, dbsqlc.UpdateEndpointParams{
		ID: e.ID, Url: e.URL, EventTypes: e.EventTypes, Description: e.Description, Ordered: e.Ordered,
		NewSecret: null.IfZero(e.NewSecret), PreviousUntil: null.IfZeroTime(e.PreviousUntil),
		FailingSince: null.IfZeroTime(e.FailingSince), DisabledAt: null.IfZeroTime(e.DisabledAt),
		DisabledReason: null.IfZero(string(e.DisabledReason)), UpdatedAt: e.UpdatedAt,
	})
}

// Delete deletes an endpoint. The database deletes the deliveries with it.
func (s Endpoints) Delete(ctx context.Context, id int64) error {
	return s.Session.Writes().DeleteEndpoint(ctx, id)
}

func endpointOf(row dbsqlc.WebhookEndpoint) (*webhook.Endpoint, error) {
	return &webhook.Endpoint{
		ID: row.ID, Owner: row.Owner, SellerID: null.Value(row.SellerID), URL: row.Url, EventTypes: row.EventTypes,
		Description: row.Description, Ordered: row.Ordered, FailingSince: null.Value(row.FailingSince).UTC(),
		DisabledAt: null.Value(row.DisabledAt).UTC(), DisabledReason: webhook.Reason(null.Value(row.DisabledReason)),
		CreatedAt: row.CreatedAt.UTC(), UpdatedAt: row.UpdatedAt.UTC(),
	}, nil
}
