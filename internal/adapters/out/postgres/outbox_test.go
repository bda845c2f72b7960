package postgres_test

import (
	"context"
	"testing"
	"time"

	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	testwait "example.com/orders/internal/test/wait"
)

// addEvents adds n events to the outbox.
func (d *database) addEvents(t *testing.T, n int) {
	t.Helper()
	err := d.Orders().InTx(t.Context(), func(ctx context.Context, tx order.Tx) error {
		for number := range n {
			err := tx.Outbox.Add(ctx, core.Event{
				Type: "test.happened", Aggregate: "thing/0", Data: order.EventData{Version: number},
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// wantLease asks for the lease and checks whether holder gets it.
func wantLease(t *testing.T, o *postgres.Outbox, holder string, ttl time.Duration, want bool) {
	t.Helper()
	if got, err := o.Lease(t.Context(), holder, ttl); err != nil || got != want {
		t.Errorf("%s got the lease: %t, err = %v; want %t", holder, got, err, want)
	}
}

func TestOutboxLease_HasOneHolder(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	one, two := d.Outbox(), open(t, d.url).Outbox()

	wantLease(t, one, "one", time.Hour, true)
	wantLease(t, two, "two", time.Hour, false)
	wantLease(t, one, "one", time.Hour, true) // its holder extends it

	if err := two.Release(t.Context(), "two"); err != nil { // not its own: no effect
		t.Fatal(err)
	}
	wantLease(t, two, "two", time.Hour, false)

	if err := one.Release(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	wantLease(t, two, "two", 50*time.Millisecond, true)

	testwait.Until(t, "the lease expires", func() bool {
		held, err := one.Lease(t.Context(), "one", time.Hour)
		return held && err == nil
	})
	wantLease(t, two, "two", time.Hour, false)
}

func TestOutboxDeletePublished_DeletesOldPublishedEventsOnly(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.addEvents(t, 10)
	d.publish(t, 5)
	d.execute(t, `UPDATE outbox SET published_at = published_at - interval '2 days'
		WHERE id < (SELECT id FROM outbox ORDER BY id OFFSET 3 LIMIT 1)`)

	for _, want := range []int{2, 1, 0} { // three are old enough, two go at a time
		got, err := d.Outbox().DeletePublished(t.Context(), 24*time.Hour, 2)
		if err != nil || got != want {
			t.Errorf("deleted %d, err = %v; want %d", got, err, want)
		}
	}
	if got, err := d.Outbox().DeletePublished(t.Context(), 0, 100); err != nil || got != 2 {
		t.Errorf("deleted %d of the events just published, err = %v; want 2", got, err)
	}
	if events, _, err := d.Outbox().Backlog(t.Context()); err != nil || events != 5 {
		t.Errorf("%d unpublished events are left, err = %v; want 5", events, err)
	}
}

// publish marks the first n events as published.
func (d *database) publish(t *testing.T, n int) {
	t.Helper()
	events, err := d.Outbox().Unpublished(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, e := range events {
		ids = append(ids, e.ID)
	}
	if err := d.Outbox().MarkPublished(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
}

func TestOutboxBacklog_CountsALongBacklogInPart(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.execute(t, `INSERT INTO outbox (type, aggregate, data, created_at)
		SELECT 'test.happened', 'thing/' || i, '{}', now() - interval '1 hour' FROM generate_series(1, 10001) i`)
	events, oldest, err := d.Outbox().Backlog(t.Context())
	if err != nil || events != 10_000 || oldest < time.Hour {
		t.Errorf("%d events, oldest %v, err = %v; want 10000, an hour old", events, oldest, err)
	}
}
