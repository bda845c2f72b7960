package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/core"
	"example.com/orders/internal/outbox"
	"example.com/orders/internal/tracing"
)

// outboxWriter implements [core.Outbox].
type outboxWriter struct{ t *tx }

// Add writes an event to the outbox, under a new id. The id contains a random part, so
// that no other database repeats it, and begins with the time, so that the index of ids
// grows at its end.
func (s outboxWriter) Add(ctx context.Context, e core.Event) error {
	data, err := json.Marshal(e.Data)
	if err != nil {
		return fmt.Errorf("encode event %s: %w", e.Type, err)
	}
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("make the id of event %s: %w", e.Type, err)
	}
	return s.t.write(ctx, addedEvent{
		EventID: id, Type: string(e.Type), Aggregate: e.Aggregate, Data: data, CreatedAt: s.t.now,
		Traceparent: tracing.Parent(ctx),
	})
}

// addedEvent is an event that a command has added.
type addedEvent dbsqlc.InsertEventParams

func (e addedEvent) alone(ctx context.Context, q *dbsqlc.Queries) error {
	return q.InsertEvent(ctx, dbsqlc.InsertEventParams(e))
}

func (e addedEvent) join(g *group) { g.events = append(g.events, e) }

// eventsParams takes the time from the first event: a group has one.
func eventsParams(events []addedEvent) dbsqlc.InsertEventsParams {
	p := dbsqlc.InsertEventsParams{CreatedAt: events[0].CreatedAt}
	for _, e := range events {
		p.EventIds, p.Types = append(p.EventIds, e.EventID), append(p.Types, e.Type)
		p.Aggregates, p.Data = append(p.Aggregates, e.Aggregate), append(p.Data, string(e.Data))
		p.Traceparents = append(p.Traceparents, e.Traceparent)
	}
	return p
}

// sourcePrefix and the name of an incarnation make the source of an event.
const sourcePrefix = "/orders/"

// Outbox reads the events that transactions have written (R-DIST-OBX). Every method commits
// by itself, so no transaction is open while the relay waits
// for the broker.
type Outbox struct{ db *DB }

// Outbox returns the reading side of the outbox.
func (db *DB) Outbox() *Outbox { return &Outbox{db} }

// Lease acquires or extends the right to relay and reports whether the holder has it.
// Nobody else can acquire it before it expires, by the clock of the database.
func (o *Outbox) Lease(ctx context.Context, holder string, d time.Duration) (bool, error) {
	var n int64
	err := o.db.writeOnce(ctx, func(q *dbsqlc.Queries) (err error) {
		n, err = q.TakeLease(ctx, dbsqlc.TakeLeaseParams{Holder: holder, Seconds: d.Seconds()})
		return err
	})
	return n == 1, failed("take the relay's lease", err)
}

// Release ends the lease, so that another replica can take over at once.
func (o *Outbox) Release(ctx context.Context, holder string) error {
	err := o.db.writeOnce(ctx, func(q *dbsqlc.Queries) error { return q.ReleaseLease(ctx, holder) })
	return failed("release the relay's lease", err)
}

// Unpublished returns the first unpublished events.
//
// They are in the order of the column id, and those of one aggregate without gaps: whoever
// writes an event holds the lock of its aggregate until COMMIT, so events of the same
// aggregate with lower numbers have been committed before. Across aggregates, a lower
// number can still appear later.
//
// Where the database replicates synchronously, it returns only what the standby has. An event
// can be visible before: whoever cancels the wait of its COMMIT, or restarts the server, makes
// it so. A failover would take it back, and the stream would keep it.
func (o *Outbox) Unpublished(ctx context.Context, limit int) ([]outbox.Event, error) {
	var rows []dbsqlc.UnpublishedEventsRow
	err := withoutDoubt(o.db.look(ctx, func(ctx context.Context, t *tx) error {
		_, err := t.loadFirst(ctx, func(q *dbsqlc.Queries) (err error) {
			rows, err = q.UnpublishedEvents(ctx, int32(limit))
			return err
		})
		switch {
		case err == nil && len(rows) == 0:
			return errNothingToCommit
		case err == nil && rows[0].Synchronous:
			return t.writes().AwaitReplication(ctx)
		}
		return err
	}))
	if err != nil {
		return nil, failed("read the outbox", err)
	}
	events := make([]outbox.Event, len(rows))
	for i, row := range rows {
		events[i] = outbox.Event{
			ID: row.EventID, Source: sourcePrefix + row.Incarnation.String(),
			Type: row.Type, Aggregate: row.Aggregate,
			Version: int(row.SchemaVersion), At: row.CreatedAt.UTC(), Data: row.Data,
			Traceparent: row.Traceparent,
		}
	}
	return events, nil
}

// MarkPublished records that the broker has accepted the events.
func (o *Outbox) MarkPublished(ctx context.Context, ids []uuid.UUID) error {
	err := o.db.writeOnce(ctx, func(q *dbsqlc.Queries) error { return q.MarkPublished(ctx, ids) })
	return failed("mark events as published", err)
}

// DeletePublished deletes events that were published longer ago than age, and returns
// their number. It considers only the oldest events, at most limit of them.
func (o *Outbox) DeletePublished(ctx context.Context, age time.Duration, limit int) (int, error) {
	var n int64
	err := o.db.writeOnce(ctx, func(q *dbsqlc.Queries) (err error) {
		n, err = q.DeletePublishedEvents(ctx, dbsqlc.DeletePublishedEventsParams{
			MaxEvents: int32(limit), Seconds: age.Seconds(),
		})
		return err
	})
	return int(n), failed("delete published events", err)
}

// maxBacklog is how many unpublished events are counted.
const maxBacklog = 10_000

// Backlog returns the number of unpublished events, maxBacklog if there are more, and the
// age of the oldest.
func (o *Outbox) Backlog(ctx context.Context) (events int64, oldest time.Duration, err error) {
	row, err := dbsqlc.New(o.db.pool).OutboxBacklog(ctx, maxBacklog)
	if err != nil {
		return 0, 0, failed("measure the outbox backlog", err)
	}
	return row.Events, time.Duration(row.OldestSeconds * float64(time.Second)), nil
}

// failed wraps an error with the failed action.
func failed(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, unavailable(err))
}
