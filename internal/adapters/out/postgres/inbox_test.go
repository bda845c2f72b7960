package postgres_test

import (
	"context"
	"testing"
	"time"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
)

// recall returns whether a message is known, and until when messages are forgotten.
func (d *database) recall(t *testing.T, id string) (known bool, forgottenUntil time.Time) {
	t.Helper()
	err := d.Orders().InTx(t.Context(), func(ctx context.Context, tx order.Tx) (err error) {
		known, forgottenUntil, err = tx.Inbox.Recall(ctx, "w", id)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return known, forgottenUntil
}

// takeMessage records a message, or renews it.
func (d *database) takeMessage(t *testing.T, id string, sentAt time.Time) (now time.Time) {
	t.Helper()
	err := d.Orders().InTx(t.Context(), func(ctx context.Context, tx order.Tx) error {
		now = tx.Now
		_, err := core.FirstTime(ctx, tx.Inbox, tx.Now, core.Message{Source: "w", ID: id, SentAt: sentAt})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return now
}

// passDays moves the database clock ahead of all recorded messages.
func (d *database) passDays(t *testing.T, days int) {
	t.Helper()
	_, err := d.plain.Exec(t.Context(), `UPDATE processed_message SET processed_at = processed_at - make_interval(days => $1)`, days)
	if err != nil {
		t.Fatal(err)
	}
}

// deleteMessages runs the clean-up and checks how many it deletes.
func (d *database) deleteMessages(t *testing.T, limit, want int) {
	t.Helper()
	if n, err := d.DeleteOldMessages(t.Context(), limit); n != want || err != nil {
		t.Errorf("%d messages deleted, err = %v; want %d", n, err, want)
	}
}

// What may be delivered again is either known or forgotten, by one fact in the database.
func TestInbox_RemembersWhatItForgets(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	_, begins := d.recall(t, "1")
	d.takeMessage(t, "1", time.Now())
	d.passDays(t, 29)
	d.deleteMessages(t, 10, 0)
	if known, until := d.recall(t, "1"); !known || !until.Equal(begins) {
		t.Errorf("after 29 days: known = %t, forgotten until %s, want true and %s", known, until, begins)
	}

	d.passDays(t, 2)
	renewed := d.takeMessage(t, "1", time.Now()) // another delivery
	d.passDays(t, 29)
	d.deleteMessages(t, 10, 0)
	d.passDays(t, 2)
	d.deleteMessages(t, 10, 1)

	if known, until := d.recall(t, "1"); known || until.Before(renewed) {
		t.Errorf("after 31 days: known = %t, forgotten until %s, want false and %s", known, until, renewed)
	}
}

func TestInbox_ForgetsByTheLaterClock(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	ahead := time.Now().Add(time.Hour).Truncate(time.Microsecond)
	d.takeMessage(t, "of a clock that is behind", time.Now().Add(-time.Hour))
	processed := d.takeMessage(t, "of a clock that is behind, again", time.Now().Add(-time.Hour))
	d.passDays(t, 31)
	d.deleteMessages(t, 1, 1)
	d.deleteMessages(t, 10, 1)
	if _, until := d.recall(t, "1"); !until.Equal(processed) {
		t.Errorf("forgotten until %s, want %s", until, processed)
	}

	d.takeMessage(t, "of a clock that is ahead", ahead)
	d.passDays(t, 31)
	d.deleteMessages(t, 10, 1)
	d.deleteMessages(t, 10, 0)

	if _, until := d.recall(t, "1"); !until.Equal(ahead) {
		t.Errorf("forgotten until %s, want %s", until, ahead)
	}
}

// A row of the version before has no sending time.
func TestInbox_ForgetsRowsOfTheVersionBefore(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	var processed time.Time
	err := d.plain.QueryRow(t.Context(), `
		INSERT INTO processed_message (source, message_id, processed_at)
		VALUES ('w', '1', now() - interval '30 days 1 minute') RETURNING processed_at`).Scan(&processed)
	if err != nil {
		t.Fatal(err)
	}

	d.deleteMessages(t, 10, 1)

	if _, until := d.recall(t, "1"); until.Before(processed.Add(24 * time.Hour)) {
		t.Errorf("forgotten until %s, want a day after %s", until, processed)
	}
}
