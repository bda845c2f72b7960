// Package relay leases, reads and deletes outbox events for the publisher, and encodes
// their data.
package relay

import (
	"context"
	"time"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/adapters/out/postgres/null"
	"example.com/orders/internal/adapters/out/postgres/pgtx"
	"example.com/orders/internal/outbox"
)

// An event's source is sourcePrefix and the incarnation.
const sourcePrefix = "/orders/"

// Outbox reads the events that transactions have written (R-DIST-OBX). Every method
// commits, so that no transaction is open while the relay waits for the broker.
type Outbox struct{ db *pgtx.DB }

// NewOutbox returns the outbox that a relay publishes.
func NewOutbox(db *pgtx.DB) *Outbox { return &Outbox{db} }

// Lease acquires or extends the relay lease and reports whether holder has it. The
// lease is exclusive until it expires by the database clock.
func (o *Outbox) Lease(ctx context.Context, holder string, d time.Duration) (bool, error) {
	var n int64
	lease := dbsqlc.TakeLeaseParams{Holder: holder, Seconds: d.Seconds()}
	err := o.db.ExecOnce(ctx, pgtx.Into(&n, (*dbsqlc.Queries).TakeLease, lease))
	return n == 1, pgtx.Failed("take the relay's lease", err)
}

// Release ends the lease, so that another replica can take over at once.
func (o *Outbox) Release(ctx context.Context, holder string) error {
	err := o.db.ExecOnce(ctx, func(ctx context.Context, q *dbsqlc.Queries) error { return q.ReleaseLease(ctx, holder) })
	return pgtx.Failed("release the relay's lease", err)
}

// Unpublished returns the first unpublished events in id order.
//
// Each aggregate's events come without gaps: a writer holds the aggregate lock until
// COMMIT, so events with lower ids are already committed. Across aggregates, a lower id
// can still appear later.
//
// With synchronous replication, it returns only replicated events. An event can become
// visible earlier, when its COMMIT's wait is cancelled or the server restarts. A
// failover would then lose the event while the stream kept it.
func (o *Outbox) Unpublished(ctx context.Context, limit int) ([]outbox.Event, error) {
	var rows []dbsqlc.UnpublishedEventsRow
	err := pgtx.WithoutDoubt(o.db.Look(ctx, func(ctx context.Context, t *pgtx.Tx) error {
		_, err := t.LoadFirst(ctx, pgtx.Into(&rows, (*dbsqlc.Queries).UnpublishedEvents, int32(limit)))
		if err != nil {
			return err
		}
		return t.AwaitReplication(ctx, len(rows) > 0 && rows[0].Synchronous)
	}))
	if err != nil {
		return nil, pgtx.Failed("read the outbox", err)
	}
	events := make([]outbox.Event, len(rows))
	for i, row := range rows {
		events[i] = eventOf(row.Outbox)
	}
	return events, nil
}

func eventOf(row dbsqlc.Outbox) outbox.Event {
	return outbox.Event{
		ID: row.EventID, Source: SourceOf(row.Incarnation), Type: row.Type, Aggregate: row.Aggregate,
		Version: int(row.SchemaVersion), At: row.CreatedAt.UTC(), Data: row.Data, Traceparent: null.Value(row.Traceparent),
	}
}

// MarkPublished records that the broker has accepted the events.
func (o *Outbox) MarkPublished(ctx context.Context, ids []string) error {
	err := o.db.ExecOnce(ctx, func(ctx context.Context, q *dbsqlc.Queries) error { return q.MarkPublished(ctx, ids) })
	return pgtx.Failed("mark events as published", err)
}

// DeletePublished deletes events published longer ago than age, and returns their
// number. It considers only the limit oldest events.
func (o *Outbox) DeletePublished(ctx context.Context, age time.Duration, limit int) (int, error) {
	var n int64
	old := dbsqlc.DeletePublishedEventsParams{MaxEvents: int32(limit), Seconds: age.Seconds()}
	err := o.db.ExecOnce(ctx, pgtx.Into(&n, (*dbsqlc.Queries).DeletePublishedEvents, old))
	return int(n), pgtx.Failed("delete published events", err)
}

// maxBacklog limits the count.
const maxBacklog = 10_000

// Backlog returns the number of unpublished events, at most maxBacklog, and the oldest
// event's age.
func (o *Outbox) Backlog(ctx context.Context) (events int64, oldest time.Duration, err error) {
	row, err := dbsqlc.New(o.db.Pool()).OutboxBacklog(ctx, maxBacklog)
	if err != nil {
		return 0, 0, pgtx.Failed("measure the outbox backlog", err)
	}
	return row.Events, time.Duration(row.OldestSeconds * float64(time.Second)), nil
}
