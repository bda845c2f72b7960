package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A machine that sleeps stops its timers. Its wall clock goes on.

func TestCommand_SendsNoOldKeyAfterSleepBetweenTwoAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newClient(t, loses, created)
		sleep := suspend(c)
		time.AfterFunc(50*time.Millisecond, func() { sleep(7 * time.Hour) }) // the wait takes 100 ms

		_, err := order(t.Context(), c, "cart-1")

		if !errors.Is(err, OutcomeUnknown) || len(s.sent) != 1 {
			t.Errorf("%d attempts, err = %v", len(s.sent), err)
		}
	})
}

func TestCommand_SendsNoOldKeyAfterSleepInTheTokenSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newClient(t, created)
		sleep := suspend(c)
		c.config.Token = func(context.Context, bool) (string, error) {
			sleep(7 * time.Hour)
			return "token", nil
		}

		_, err := order(t.Context(), c, "cart-1")

		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, OutcomeUnknown) || len(s.sent) != 0 {
			t.Errorf("%d attempts, err = %v", len(s.sent), err)
		}
	})
}

func TestCommand_SendsAKeyForSixHoursWhateverItsDeadlineIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newClient(t, unavailable)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Hour)
		defer cancel()

		_, err := order(ctx, c, "cart-1")

		first, last := s.sent[0].at, s.sent[len(s.sent)-1].at
		if age := last.Sub(first); !errors.Is(err, Unavailable) || age < 5*time.Hour || age >= 6*time.Hour {
			t.Errorf("a key was sent for %s, err = %v", age, err)
		}
	})
}

// By itself, net/http repeats a request with an Idempotency-Key on a connection that was used
// before. It does not look at the clock.
func TestCommand_IsRepeatedByNobodyElse(t *testing.T) {
	var arrived, attempts atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if arrived.Add(1)%2 == 0 {
			resets(w, r)
			return
		}
		w.Header().Set("Idempotency-Key", r.Header.Get("Idempotency-Key"))
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprint(w, `{"id": 1041}`)
	}))
	defer server.Close()
	c, err := New(Config{
		URL: server.URL, Keys: &MemoryStore{}, BackOff: BackOff{Base: time.Hour, Max: time.Hour},
		Token: func(context.Context, bool) (string, error) {
			attempts.Add(1)
			return "token", nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	c.random = func(limit time.Duration) time.Duration { return limit } // no time for a retry

	for name, reset := range map[string]func(name string) error{
		"with a body": func(name string) error {
			_, err := order(t.Context(), c, name)
			return err
		},
		"without members": func(name string) error {
			_, err := c.ReserveInventory(t.Context(), name, 1041)
			return err
		},
	} {
		if _, err := order(t.Context(), c, name+", before"); err != nil {
			t.Fatal(err)
		}
		if err := reset(name); !errors.Is(err, OutcomeUnknown) {
			t.Errorf("%s: err = %v", name, err)
		}
	}
	if arrived.Load() != attempts.Load() {
		t.Errorf("%d requests arrived in %d attempts", arrived.Load(), attempts.Load())
	}
}
