package relay

import (
	"cmp"
	"context"
	"strings"
	"time"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/adapters/out/postgres/pgtx"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/webhook"
)

// Deliveries turns outbox events into webhook deliveries, and hands those out that are
// due. It implements [webhook.Queue].
type Deliveries struct{ db *pgtx.DB }

// NewDeliveries returns the deliveries in a database.
func NewDeliveries(db *pgtx.DB) *Deliveries { return &Deliveries{db} }

// Dispatch implements [webhook.Queue].
func (d *Deliveries) Dispatch(ctx context.Context, limit int) (events int, err error) {
	err = d.db.WriteOnce(ctx, func(ctx context.Context, t *pgtx.Tx) error {
		var rows []dbsqlc.Outbox
		_, err := t.LoadFirst(ctx, pgtx.Into(&rows, (*dbsqlc.Queries).UndispatchedEvents, int32(limit)))
		if err != nil || len(rows) == 0 {
			return cmp.Or(err, pgtx.ErrNothingToCommit)
		}
		var insert dbsqlc.InsertDeliveriesParams
		for _, row := range rows {
			e := eventOf(row)
			body, err := e.CloudEvent()
			if err != nil {
				return err
			}
			insert.EventIds, insert.Bodies = append(insert.EventIds, e.ID), append(insert.Bodies, string(body))
			insert.Patterns = append(insert.Patterns, strings.Join(webhook.PatternsOf(core.EventType(e.Type)), " "))
		}
		events = len(rows)
		if err := t.Writes().InsertDeliveries(ctx, insert); err != nil {
			return err
		}
		return t.Writes().MarkDispatched(ctx, insert.EventIds)
	})
	return events, pgtx.Failed("write deliveries", err)
}

// EndpointsDue implements [webhook.Queue].
func (d *Deliveries) EndpointsDue(ctx context.Context, limit int) ([]int64, error) {
	var ids []int64
	err := d.db.ReadOnce(ctx, pgtx.Into(&ids, (*dbsqlc.Queries).DueEndpoints, int32(limit)))
	return ids, pgtx.Failed("read which deliveries are due", err)
}

// Claim implements [webhook.Queue]. A record of an ordered endpoint waits, so that it lets no
// delivery go that a claim with an older snapshot then holds back.
func (d *Deliveries) Claim(ctx context.Context, endpointID int64, limit int, lost time.Duration) ([]webhook.Attempt, error) {
	var rows []dbsqlc.ClaimDeliveriesRow
	claim := dbsqlc.ClaimDeliveriesParams{EndpointID: endpointID, MaxDeliveries: int32(limit), HiddenSeconds: lost.Seconds()}
	lock := func(ctx context.Context, q *dbsqlc.Queries) error { return q.LockOrderedEndpoint(ctx, endpointID) }
	if err := d.db.ExecOnce(ctx, lock, pgtx.Into(&rows, (*dbsqlc.Queries).ClaimDeliveries, claim)); err != nil {
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

// Backlog returns how many deliveries are pending and endpoints disabled, each at most
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
