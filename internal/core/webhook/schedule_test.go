package webhook

import (
	"testing"
	"time"
)

func TestPause_FollowsTheSchedule(t *testing.T) {
	t.Parallel()
	for attempt, want := range map[int]time.Duration{
		1: 5 * time.Second, 2: 5 * time.Minute, 3: 30 * time.Minute, 4: 2 * time.Hour, 5: 5 * time.Hour, 6: 10 * time.Hour,
		7: 14 * time.Hour, 8: 20 * time.Hour, 9: 24 * time.Hour,
	} {
		for jitter, factor := range map[float64]float64{0: 1, 1: 1.1, -1: 0.9} {
			got, again := pause(attempt, 0, jitter)
			if exact := time.Duration(factor * float64(want)); !again || (got-exact).Abs() > time.Microsecond {
				t.Errorf("after attempt %d with jitter %v: %v, %v; want %v", attempt, jitter, got, again, exact)
			}
		}
	}
	for _, attempt := range []int{10, 11, 1000} {
		if wait, again := pause(attempt, time.Hour, 0); again {
			t.Errorf("attempt %d is followed by another after %v", attempt, wait)
		}
	}
}

func TestPause_ObeysRetryAfterWithinBounds(t *testing.T) {
	t.Parallel()
	for asked, want := range map[time.Duration]time.Duration{
		0: 5 * time.Minute, time.Second: 5 * time.Minute, time.Hour: time.Hour, 24 * time.Hour: 24 * time.Hour,
		25 * time.Hour: 24 * time.Hour, 1e6 * time.Hour: 24 * time.Hour,
	} {
		if got, again := pause(2, asked, 0); got != want || !again {
			t.Errorf("asked for %v: %v, %v; want %v", asked, got, again, want)
		}
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
