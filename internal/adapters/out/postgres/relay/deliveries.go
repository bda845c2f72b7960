package relay

import (
	"context"
	"strings"
	"time"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/adapters/out/postgres/pgtx"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/webhook"
	"example.com/orders/internal/outbox"
)

// Deliveries turns outbox events into webhook deliveries, and hands those out that are
// due. To the relay it is both the outbox, with a mark and a lease for this purpose, and
// the broker: [outbox.Store], [outbox.Publisher] and [webhook.Queue].
type Deliveries struct{ db *pgtx.DB }

// NewDeliveries returns the deliveries of a database.
func NewDeliveries(db *pgtx.DB) *Deliveries { return &Deliveries{db} }

// Lease is [Outbox.Lease] for the relay that writes deliveries.
func (d *Deliveries) Lease(ctx context.Context, holder string, ttl time.Duration) (bool, error) {
	var n int64
	lease := dbsqlc.TakeWebhookLeaseParams{Holder: holder, Seconds: ttl.Seconds()}
	err := d.db.ExecOnce(ctx, pgtx.Into(&n, (*dbsqlc.Queries).TakeWebhookLease, lease))
	return n == 1, pgtx.Failed("take the webhook lease", err)
}

// Release is [Outbox.Release] for the relay that writes deliveries.
func (d *Deliveries) Release(ctx context.Context, holder string) error {
	err := d.db.ExecOnce(ctx, func(ctx context.Context, q *dbsqlc.Queries) error { return q.ReleaseWebhookLease(ctx, holder) })
	return pgtx.Failed("release the webhook lease", err)
}

// Unpublished returns the first events without deliveries; see [Outbox.Unpublished]. It
// returns none while there is no endpoint.
func (d *Deliveries) Unpublished(ctx context.Context, limit int) ([]outbox.Event, error) {
	return replicated(ctx, d.db, func(ctx context.Context, q *dbsqlc.Queries) ([]dbsqlc.UnpublishedEventsRow, error) {
		found, err := q.UndispatchedEvents(ctx, int32(limit))
		rows := make([]dbsqlc.UnpublishedEventsRow, len(found))
		for i, row := range found {
			rows[i] = dbsqlc.UnpublishedEventsRow(row)
		}
		return rows, err
	})
}

// Publish writes the deliveries of events to the endpoints that want them.
func (d *Deliveries) Publish(ctx context.Context, events []outbox.Event) (acked []string, err error) {
	var insert dbsqlc.InsertDeliveriesParams
	for _, e := range events {
		body, err := e.CloudEvent()
		if err != nil {
			return nil, err
		}
		insert.EventIds, insert.Bodies = append(insert.EventIds, e.ID), append(insert.Bodies, string(body))
		insert.Patterns = append(insert.Patterns, strings.Join(webhook.PatternsOf(core.EventType(e.Type)), " "))
	}
	err = d.db.ExecOnce(ctx, func(ctx context.Context, q *dbsqlc.Queries) error { return q.InsertDeliveries(ctx, insert) })
	if err != nil {
		return nil, pgtx.Failed("write deliveries", err)
	}
	return insert.EventIds, nil
}

// MarkPublished records that the deliveries of events are written.
func (d *Deliveries) MarkPublished(ctx context.Context, ids []string) error {
	err := d.db.ExecOnce(ctx, func(ctx context.Context, q *dbsqlc.Queries) error { return q.MarkDispatched(ctx, ids) })
	return pgtx.Failed("mark events as dispatched", err)
}

// EndpointsDue implements [webhook.Queue].
func (d *Deliveries) EndpointsDue(ctx context.Context, limit int) ([]int64, error) {
	var ids []int64
	err := d.db.ReadOnce(ctx, pgtx.Into(&ids, (*dbsqlc.Queries).DueEndpoints, int32(limit)))
	return ids, pgtx.Failed("read which deliveries are due", err)
}

// Claim implements [webhook.Queue].
func (d *Deliveries) Claim(ctx context.Context, endpointID int64, limit int, lost time.Duration) ([]webhook.Attempt, error) {
	var rows []dbsqlc.ClaimDeliveriesRow
	claim := dbsqlc.ClaimDeliveriesParams{EndpointID: endpointID, MaxDeliveries: int32(limit), HiddenSeconds: lost.Seconds()}
	err := d.db.ExecOnce(ctx, pgtx.Into(&rows, (*dbsqlc.Queries).ClaimDeliveries, claim))
	if err != nil {
		return nil, pgtx.Failed("claim deliveries", err)
	}
	attempts := make([]webhook.Attempt, len(rows))
	for i, row := range rows {
		attempts[i] = webhook.Attempt{
			DeliveryID: row.ID, Number: int(row.Attempts), URL: row.Url, Secrets: []string{row.Secret},
			EventID: row.EventID, Body: row.Body,
		}
		if row.PreviousSecret != "" {
			attempts[i].Secrets = append(attempts[i].Secrets, row.PreviousSecret)
		}
	}
	return attempts, nil
}

// Backlog returns the numbers of pending deliveries and of disabled endpoints, each at most
// maxBacklog, and for how long the oldest event has been waiting for this service: it was
// not the receiver that failed.
func (d *Deliveries) Backlog(ctx context.Context) (pending, disabled int64, oldest time.Duration, err error) {
	row, err := dbsqlc.New(d.db.Pool()).DeliveryBacklog(ctx, maxBacklog)
	if err != nil {
		return 0, 0, 0, pgtx.Failed("measure the webhook backlog", err)
	}
	return row.Pending, row.Disabled, time.Duration(row.OldestSeconds * float64(time.Second)), nil
}

// DeleteOld deletes up to limit deliveries whose events are older than age, and returns
// their number.
func (d *Deliveries) DeleteOld(ctx context.Context, age time.Duration, limit int) (int, error) {
	var n int64
	old := dbsqlc.DeleteOldDeliveriesParams{MaxDeliveries: int32(limit), Seconds: age.Seconds()}
	err := d.db.ExecOnce(ctx, pgtx.Into(&n, (*dbsqlc.Queries).DeleteOldDeliveries, old))
	return int(n), pgtx.Failed("delete old deliveries", err)
}
