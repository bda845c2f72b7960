package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/core"
	"example.com/orders/internal/outbox"
)

// outboxWriter implements [core.Outbox].
type outboxWriter struct{ t *tx }

// Add writes an event to the outbox.
func (s outboxWriter) Add(ctx context.Context, e core.Event) error {
	data, err := json.Marshal(e.Data)
	if err != nil {
		return fmt.Errorf("encode event %s: %w", e.Type, err)
	}
	return s.t.writes().InsertEvent(ctx, dbsqlc.InsertEventParams{
		Type: string(e.Type), Aggregate: e.Aggregate, Data: data, CreatedAt: s.t.now,
	})
}

// Outbox hands out the events that transactions left behind (R-DIST-OBX). Every method
// is one statement that commits by itself: nothing is held while the broker is waited for.
type Outbox struct{ db *DB }

// Outbox gives the outbox.
func (db *DB) Outbox() *Outbox { return &Outbox{db} }

// Lease takes the right to relay for so long, or renews it, and tells whether the holder
// has it. Nobody else gets it until it ends, by the clock of the database.
func (o *Outbox) Lease(ctx context.Context, holder string, d time.Duration) (bool, error) {
	n, err := o.queries().TakeLease(ctx, dbsqlc.TakeLeaseParams{Holder: holder, Seconds: d.Seconds()})
	return n == 1, failed("take the relay's lease", err)
}

// Release lets another replica take over at once.
func (o *Outbox) Release(ctx context.Context, holder string) error {
	return failed("release the relay's lease", o.queries().ReleaseLease(ctx, holder))
}

// Unpublished gives the events with the lowest ids of those that have not left.
//
// Of one aggregate they come in the order they were written in, and never one without
// those before it: whoever writes an event holds the lock of its aggregate until COMMIT,
// so a lower id of the same aggregate has been committed before. Across aggregates, a
// lower id may still turn up later.
func (o *Outbox) Unpublished(ctx context.Context, limit int) ([]outbox.Event, error) {
	rows, err := o.queries().UnpublishedEvents(ctx, int32(limit))
	if err != nil {
		return nil, failed("read the outbox", err)
	}
	events := make([]outbox.Event, len(rows))
	for i, row := range rows {
		events[i] = outbox.Event{
			ID: row.ID, Type: row.Type, Aggregate: row.Aggregate,
			Version: int(row.SchemaVersion), At: row.CreatedAt.UTC(), Data: row.Data,
		}
	}
	return events, nil
}

// MarkPublished notes that the broker has the events.
func (o *Outbox) MarkPublished(ctx context.Context, ids []int64) error {
	return failed("mark events as published", o.queries().MarkPublished(ctx, ids))
}

// DeletePublished removes events that left longer ago than age, and tells how many there
// were. It looks at the oldest events only, limit of them.
func (o *Outbox) DeletePublished(ctx context.Context, age time.Duration, limit int) (int, error) {
	n, err := o.queries().DeletePublishedEvents(ctx, dbsqlc.DeletePublishedEventsParams{
		MaxEvents: int32(limit), Seconds: age.Seconds(),
	})
	return int(n), failed("delete published events", err)
}

// Backlog tells how many events have not left, and how old the first of them is.
func (o *Outbox) Backlog(ctx context.Context) (events int64, oldest time.Duration, err error) {
	row, err := o.queries().OutboxBacklog(ctx)
	if err != nil {
		return 0, 0, failed("look at the outbox", err)
	}
	return row.Events, time.Duration(row.OldestSeconds * float64(time.Second)), nil
}

func (o *Outbox) queries() *dbsqlc.Queries { return dbsqlc.New(o.db.pool) }

// failed says what did not work, and whether that will pass.
func failed(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, unavailable(err))
}
