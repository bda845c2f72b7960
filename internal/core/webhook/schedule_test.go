package webhook

import (
	"testing"
	"time"
)

var now = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// wait returns how long a delivery waits after a failed attempt, or false if it is given up.
func wait(attempt int, asked time.Duration) (time.Duration, bool) {
	d := after(Attempt{Number: attempt}, Outcome{Failure: FailedStatus, RetryAfter: asked}, now)
	return d.NextAttemptAt.Sub(now), d.Status == Pending && d.FinishedAt.IsZero()
}

func TestAfter_FollowsTheSchedule(t *testing.T) {
	t.Parallel()
	for attempt, want := range map[int]time.Duration{
		1: 5 * time.Second, 2: 5 * time.Minute, 3: 30 * time.Minute, 4: 2 * time.Hour, 5: 5 * time.Hour, 6: 10 * time.Hour,
		7: 14 * time.Hour, 8: 20 * time.Hour, 9: 24 * time.Hour,
	} {
		shortest, longest := want, want
		for range 1000 {
			got, again := wait(attempt, 0)
			if !again || (got-want).Abs() > want/10 {
				t.Fatalf("after attempt %d: %v, %v; want %v", attempt, got, again, want)
			}
			shortest, longest = min(shortest, got), max(longest, got)
		}
		if longest-shortest < want/10 {
			t.Errorf("after attempt %d: all waits are between %v and %v, want a fifth of %v between them", attempt, shortest, longest, want)
		}
	}
	for _, attempt := range []int{10, 11, 1000} {
		if d := after(Attempt{Number: attempt}, Outcome{Failure: FailedStatus}, now); d.Status != Failed || d.FinishedAt != now {
			t.Errorf("attempt %d is followed by another at %v", attempt, d.NextAttemptAt)
		}
	}
}

func TestAfter_ObeysRetryAfterWithinBounds(t *testing.T) {
	t.Parallel()
	for asked, want := range map[time.Duration]time.Duration{
		time.Hour: time.Hour, 24 * time.Hour: 24 * time.Hour, 25 * time.Hour: 24 * time.Hour, 1e6 * time.Hour: 24 * time.Hour,
	} {
		if got, again := wait(2, asked); got != want || !again {
			t.Errorf("asked for %v: %v, %v; want %v", asked, got, again, want)
		}
	}
	if got, _ := wait(2, time.Second); got < 4*time.Minute {
		t.Errorf("asked for a second: %v, want the pause of the schedule", got)
	}
}

// Deliveries are kept for a week after their event. Those of a disabled endpoint wait, so
// it must be disabled, and somebody must have time to act, before they go.
func TestSchedule_EndsBeforeDeliveriesAreDeleted(t *testing.T) {
	t.Parallel()
	var all time.Duration
	for _, p := range pauses {
		all += p + p/10
	}
	if kept := 7 * 24 * time.Hour; all >= failsFor || failsFor > kept-2*24*time.Hour {
		t.Errorf("the attempts take %v, an endpoint may fail for %v, and deliveries are kept for %v", all, failsFor, kept)
	}
}
