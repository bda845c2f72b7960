package endpoints

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/adapters/out/postgres/fetch"
	"example.com/orders/internal/adapters/out/postgres/null"
	"example.com/orders/internal/adapters/out/postgres/relay"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/webhook"
	"example.com/orders/internal/outbox"
)

// Deliveries implements [webhook.Deliveries].
type Deliveries struct{ Session Session }

// Lock locks and loads a delivery of an endpoint.
func (s Deliveries) Lock(ctx context.Context, endpointID, id int64) (*webhook.Delivery, error) {
	return fetch.One(ctx, s.Session, (*queries).LockDelivery, dbsqlc.LockDeliveryParams{ID: id, EndpointID: endpointID}, deliveryOf)
}

// List returns a page plus one more delivery, newest first.
func (s Deliveries) List(ctx context.Context, f webhook.Filter, page core.Page) ([]*webhook.Delivery, error) {
	statuses := []string{string(webhook.Pending), string(webhook.Delivered), string(webhook.Failed)}
	if f.Status != "" {
		statuses = []string{string(f.Status)}
	}
	return fetch.List(ctx, s.Session, (*queries).ListDeliveries, dbsqlc.ListDeliveriesParams{
		EndpointID: f.EndpointID, Statuses: statuses, BeforeID: null.IfZero(page.After.ID), Rows: int32(page.Limit + 1),
	}, deliveryOf)
}

// Add inserts a pending delivery.
func (s Deliveries) Add(ctx context.Context, e core.Event, d *webhook.Delivery) error {
	var row dbsqlc.NextDeliveryRow
	next := func(ctx context.Context, q *queries) (err error) { row, err = q.NextDelivery(ctx); return err }
	if err := s.Session.Load(ctx, next); err != nil {
		return err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("make the id of event %s: %w", e.Type, err)
	}
	d.ID, d.EventID = row.ID, id.String()
	data, err := relay.EncodeData(e.Data)
	if err != nil {
		return fmt.Errorf("encode event %s: %w", e.Type, err)
	}
	event := outbox.Event{
		ID: d.EventID, Source: relay.SourceOf(row.Incarnation), Type: string(e.Type), Aggregate: e.Aggregate,
		Version: 1, At: d.CreatedAt, Data: data,
	}
	body, err := event.CloudEvent()
	if err != nil {
		return err
	}
	return s.Session.Writes().InsertDelivery(ctx, dbsqlc.InsertDeliveryParams{
		ID: d.ID, EndpointID: d.EndpointID, EventID: d.EventID, EventType: event.Type, Aggregate: e.Aggregate,
		Body: string(body), CreatedAt: d.CreatedAt,
	})
}

// Save updates a delivery.
func (s Deliveries) Save(ctx context.Context, d *webhook.Delivery) error {
	return s.Session.Writes().UpdateDelivery(ctx, dbsqlc.UpdateDeliveryParams{
		ID: d.ID, Status: string(d.Status), Attempts: int32(d.Attempts), NextAttemptAt: null.IfZeroTime(d.NextAttemptAt),
		ResponseStatus: null.IfZero(int32(d.Last.Status)), ResponseStart: null.IfZero(d.Last.Start),
		Error: null.IfZero(string(d.Last.Failure)), FinishedAt: null.IfZeroTime(d.FinishedAt),
	})
}

func deliveryOf(row dbsqlc.WebhookDelivery) (*webhook.Delivery, error) {
	return &webhook.Delivery{
		ID: row.ID, EndpointID: row.EndpointID, EventID: row.EventID, EventType: core.EventType(row.EventType),
		Status: webhook.Status(row.Status), Attempts: int(row.Attempts), NextAttemptAt: null.Value(row.NextAttemptAt).UTC(),
		Last: webhook.Outcome{
			Status: int(null.Value(row.ResponseStatus)), Start: null.Value(row.ResponseStart),
			Failure: webhook.Failure(null.Value(row.Error)),
		},
		CreatedAt: row.CreatedAt.UTC(), FinishedAt: null.Value(row.FinishedAt).UTC(),
	}, nil
}
