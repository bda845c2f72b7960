package limits

import (
	"strconv"
	"testing"
	"time"

	"example.com/orders/internal/adapters/in/http/problem"
	"example.com/orders/internal/core"
	"example.com/orders/kit/guard"
)

// newLimits returns limits that nothing observes.
func newLimits(t *testing.T, cfg Config) *Limits {
	t.Helper()
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.OnExceeded == nil {
		cfg.OnExceeded = func(string) {}
	}
	limits := New(cfg)
	t.Cleanup(limits.Close)
	return limits
}

// A bucket of any size admits a request after Retry-After, and none a second earlier.
func TestLimits_RetryAfterIsRight(t *testing.T) {
	t.Parallel()
	for perMinute := 1; perMinute <= 200; perMinute++ {
		now := time.Date(2026, time.November, 4, 9, 30, 0, 0, time.UTC)
		limits := newLimits(t, Config{RequestsPerMinute: perMinute, Now: func() time.Time { return now }})
		for elapsed := range 5 {
			for range perMinute {
				_, _ = limits.Admit("ann", core.Actor{}) // until it is refused
			}
			_, err := limits.Admit("ann", core.Actor{})
			seconds, _ := strconv.Atoi(problem.Of(err).Header.Get("Retry-After"))
			now = now.Add(time.Duration(seconds-1) * time.Second)
			if _, err := limits.Admit("ann", core.Actor{}); seconds > 1 && err == nil {
				t.Errorf("%d a minute: admitted a second before Retry-After", perMinute)
			}
			now = now.Add(time.Second)
			if _, err := limits.Admit("ann", core.Actor{}); err != nil {
				t.Errorf("%d a minute: refused %d s after Retry-After", perMinute, seconds)
			}
			now = now.Add(time.Duration(elapsed) * 137 * time.Millisecond)
		}
	}
}

// However many principals come, only so many are remembered.
func TestLimits_BoundTheirMemory(t *testing.T) {
	t.Parallel()
	limits := newLimits(t, Config{RequestsPerMinute: 1})
	for i := range maxBuckets + 10_000 {
		admitted, err := limits.Admit(guard.Scope(strconv.Itoa(i)), core.Actor{})
		if err != nil {
			t.Fatal(err)
		}
		admitted.End()
	}
	limits.buckets.CleanUp()
	if n := limits.buckets.EstimatedSize(); n > maxBuckets || len(limits.inFlight) != 0 {
		t.Errorf("%d principals are counted and %d present, want %d at most and none", n, len(limits.inFlight), maxBuckets)
	}
}
