package client

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestCommand_RetriesWithTheSameKeyAndBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newClient(t,
			loses, cuts, hangs, unavailable,
			pageOf(http.StatusBadGateway), pageOf(http.StatusOK),
			refuses(http.StatusServiceUnavailable, `"code": "outcome_unknown", `+retryable),
			refuses(http.StatusConflict, `"code": "idempotency_in_progress", `+retryable),
			refuses(http.StatusTooManyRequests, `"code": "rate_limited", `+retryable),
			replayed,
		)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		got, err := order(ctx, c, "cart-1")
		if err != nil || got.ID != 1041 || !got.Replayed || got.Key == "" {
			t.Errorf("result %+v, err = %v", got, err)
		}
		if len(s.sent) != len(s.answers) {
			t.Errorf("%d attempts, want %d", len(s.sent), len(s.answers))
		}
		for _, r := range s.sent {
			if r.key != got.Key || r.body != s.sent[0].body || r.path != "/orders" {
				t.Errorf("sent %+v", r)
			}
		}
	})
}

func TestCommand_DoesNotRetryWhatTheServiceRefuses(t *testing.T) {
	for name, answer := range map[string]answer{
		"a decision":         outOfStock,
		"an invalid request": refuses(http.StatusUnprocessableEntity, `"code": "validation_failed", `+undecided),
		"an unknown code":    refuses(http.StatusTeapot, `"code": "teapot", "retryable": false, "brewing": {"tea": true}`),
	} {
		t.Run(name, func(t *testing.T) {
			c, s := newClient(t, answer)
			var unknown *UnknownOutcomeError
			if _, err := order(t.Context(), c, "cart-1"); err == nil || errors.As(err, &unknown) || len(s.sent) != 1 {
				t.Errorf("%d attempts, err = %v", len(s.sent), err)
			}
		})
	}
}

func TestChangeWithoutKey_IsRetriedOnlyIfTheServiceSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newClient(t, unavailable, loses)
		if _, err := c.UpdateOrderStatus(t.Context(), 1041, OrderShipped); err == nil || len(s.sent) != 2 {
			t.Errorf("%d attempts, err = %v; want a second one only", len(s.sent), err)
		}
	})
}

func TestQuery_IsRetriedWithoutKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newClient(t, loses, cuts, responds(http.StatusOK, `{"id": 1041, "status": "teleported", "new": 1}`))
		got, err := c.GetOrder(t.Context(), 1041)
		if err != nil || got.Status != "teleported" || s.sent[2].key != "" {
			t.Errorf("order %+v, err = %v", got, err)
		}
	})
}

func TestBackOff_DoublesUpToItsMaximum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newClient(t, unavailable)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := order(ctx, c, "cart-1")
		if !errors.Is(err, Unavailable) {
			t.Errorf("err = %v", err)
		}
		ms := time.Millisecond
		want := []time.Duration{
			100 * ms, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 2000 * ms, 2000 * ms, 2000 * ms,
		}
		if diff := diffOf(want, s.waits()); diff != "" {
			t.Errorf("waits (-want +got):\n%s", diff)
		}
	})
}

func TestBackOff_IsRandom(t *testing.T) {
	c, err := New(Config{URL: "https://orders.test", Token: StaticToken(""), Keys: &MemoryStore{}})
	if err != nil {
		t.Fatal(err)
	}
	const limit = time.Second
	var delays []time.Duration
	for range 1000 {
		delays = append(delays, c.random(limit))
	}
	if low, high := slices.Min(delays), slices.Max(delays); low < 0 || low > limit/10 || high < limit*9/10 || high >= limit {
		t.Errorf("a thousand delays are between %s and %s", low, high)
	}
}

func TestBackOff_OfAnyLengthEndsAtTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newClient(t, pageOf(http.StatusServiceUnavailable, "Retry-After", "9223372036"), created)
		c.config.BackOff = BackOff{Base: unlimited, Max: unlimited}
		start := time.Now()
		if _, err := order(t.Context(), c, "cart-1"); !errors.Is(err, OutcomeUnknown) || len(s.sent) != 1 || time.Since(start) != 0 {
			t.Errorf("%d attempts in %s, err = %v", len(s.sent), time.Since(start), err)
		}
	})
}

func TestDeadline_LeavesTheOutcomeUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newClient(t, hangs)
		start := time.Now()
		_, err := order(t.Context(), c, "cart-1")
		unknown, ok := errors.AsType[*UnknownOutcomeError](err)
		if !ok || unknown.Operation != "cart-1" || unknown.Key != s.sent[0].key {
			t.Errorf("err = %#v", err)
		}
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, OutcomeUnknown) {
			t.Errorf("err = %v", err)
		}
		// 10 s, 100 ms pause, 10 s, 200 ms pause, and what is left.
		if took := time.Since(start); took != 30*time.Second || len(s.sent) != 3 {
			t.Errorf("%d attempts in %s", len(s.sent), took)
		}
	})
}

func TestDeadline_OfTheContextApplies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := newClient(t, hangs)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start := time.Now()
		if _, err := order(ctx, c, "cart-1"); !errors.Is(err, OutcomeUnknown) || time.Since(start) != 3*time.Second {
			t.Errorf("after %s: err = %v", time.Since(start), err)
		}
	})
}

func TestDeadline_IsNotWaitedForInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newClient(t, refuses(http.StatusServiceUnavailable, `"code": "unavailable", `+retryable, "Retry-After", "60"))
		start := time.Now()
		if _, err := order(t.Context(), c, "cart-1"); !errors.Is(err, Unavailable) || time.Since(start) != 0 {
			t.Errorf("after %s: err = %v", time.Since(start), err)
		}
		if len(s.sent) != 1 {
			t.Errorf("%d attempts", len(s.sent))
		}
	})
}

func TestUnknownOutcome_IsNotResolvedByARefusalOfTheRetry(t *testing.T) {
	forbidden := refuses(http.StatusForbidden, `"code": "forbidden_role", `+undecided)
	for name, tc := range map[string]struct {
		refusal answer
		unknown bool
	}{
		"that is not stored": {forbidden, true},
		"that is stored":     {outOfStock, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _ := newClient(t, loses, tc.refusal)
				_, err := order(t.Context(), c, "cart-1")
				_, unknown := errors.AsType[*UnknownOutcomeError](err)
				_, problem := errors.AsType[*Problem](err)
				if unknown != tc.unknown || !problem {
					t.Errorf("err = %v", err)
				}
			})
		})
	}
}
