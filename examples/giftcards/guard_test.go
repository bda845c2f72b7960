package main

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"example.com/orders/kit/guard"
)

func TestKeyLimit_CountsEachCustomerPerMinute(t *testing.T) {
	t.Parallel()
	l := &keyLimit{perMinute: 2}
	at := time.Date(2026, 11, 23, 12, 0, 59, 0, time.UTC)
	for _, step := range []struct {
		customer string
		at       time.Time
		want     bool
	}{
		{"alice", at, true}, {"alice", at, true}, {"alice", at, false},
		{"bob", at, true}, {"alice", at.Add(time.Second), true},
	} {
		if got := l.take(step.customer, step.at); got != step.want {
			t.Errorf("%s at %s: %t, want %t", step.customer, step.at, got, step.want)
		}
	}
}

// Only a new key counts: retries are answered, and observed as such. A long body reaches no key.
func TestGuarded_LimitsKeysAndBodiesAndObservesOutcomes(t *testing.T) {
	t.Parallel()
	var observed []string
	handler := guarded(front{
		Guard:   guard.Guard{Store: newStore(t), Wait: time.Minute, Timeout: time.Minute},
		newKeys: &keyLimit{perMinute: 1},
		observe: func(operation, outcome string, _ time.Duration) { observed = append(observed, operation+" "+outcome) },
	}, "topUp", decodeAmount, func(context.Context, string, string, amountCommand) (reply, error) {
		return reply{Status: 204}, nil
	})
	for _, step := range []struct {
		key    string
		spaces int
		status int
	}{{"key-1", maxBody, 413}, {"key-1", 0, 204}, {"key-1", 9, 204}, {"key-2", 0, 429}} {
		body := `{"amount_cents": 1}` + strings.Repeat(" ", step.spaces)
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/giftcards/WELCOME-50/top-ups", strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer alice-token")
		r.Header.Set("Idempotency-Key", step.key)
		w := httptest.NewRecorder()
		handler(w, r)
		if w.Code != step.status || step.status == 204 && (w.Body.Len() > 0 || w.Header().Get("Content-Type") != "") {
			t.Errorf("%s: status %d, %q; want %d", step.key, w.Code, w.Body, step.status)
		}
	}
	if want := "[topUp done topUp replayed topUp too_many_keys]"; fmt.Sprint(observed) != want {
		t.Errorf("observed %v, want %s", observed, want)
	}
}
