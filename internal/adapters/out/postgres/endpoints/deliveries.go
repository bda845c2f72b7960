package endpoints

import (
	"context"
	"fmt"
	"time"

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

// Add inserts a delivery, due now.
func (s Deliveries) Add(ctx context.Context, endpointID int64, e core.Event, now time.Time) (*webhook.Delivery, error) {
	var row dbsqlc.NextDeliveryRow
	next := func(ctx context.Context, q *queries) (err error) { row, err = q.NextDelivery(ctx); return err }
	if err := s.Session.Load(ctx, next); err != nil {
		return nil, err
	}
	data, err := relay.EncodeData(e.Data)
	if err != nil {
		return nil, fmt.Errorf("encode event %s: %w", e.Type, err)
	}
	event := outbox.Event{
		ID: uuid.Must(uuid.NewV7()).String(), Source: relay.SourceOf(row.Incarnation), Type: string(e.Type),
		Aggregate: e.Aggregate, Version: 1, At: now, Data: data,
	}
	body, err := event.CloudEvent()
	if err != nil {
		return nil, err
	}
	d := &webhook.Delivery{
		ID: row.ID, EndpointID: endpointID, EventID: event.ID, EventType: e.Type, Status: webhook.Pending, NextAttemptAt: now, CreatedAt: now,
	}
	return d, s.Session.Writes().InsertDelivery(ctx, dbsqlc.InsertDeliveryParams{
		ID: d.ID, EndpointID: endpointID, EventID: event.ID, EventType: event.Type, Aggregate: e.Aggregate, Body: string(body), Now: now,
	})
}

// Retry makes a delivery due.
func (s Deliveries) Retry(ctx context.Context, endpointID, id int64, now time.Time) (*webhook.Delivery, error) {
	d, err := fetch.One(ctx, s.Session, (*queries).LockDelivery, dbsqlc.LockDeliveryParams{ID: id, EndpointID: endpointID}, deliveryOf)
	if err != nil {
		return nil, err
	}
	d.Status, d.Attempts, d.NextAttemptAt, d.FinishedAt, d.Last = webhook.Pending, 0, now, time.Time{}, webhook.Outcome{}
	return d, s.Session.Writes().RetryDelivery(ctx, dbsqlc.RetryDeliveryParams{ID: id, Now: &now})
}

// Record saves how the last attempt ended.
func (s Deliveries) Record(ctx context.Context, d *webhook.Delivery) error {
	return s.Session.Writes().RecordAttempt(ctx, dbsqlc.RecordAttemptParams{
		ID: d.ID, Attempts: int32(d.Attempts), Status: string(d.Status), NextAttemptAt: null.IfZeroTime(d.NextAttemptAt),
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
