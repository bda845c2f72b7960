package httpapi

import (
	"context"
	"errors"
	"time"

	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/idempotency"
)

// Observer observes requests, for metrics.
type Observer interface {
	// RequestBegan is called when a request arrives.
	RequestBegan()
	// RequestEnded is called when it is answered. The route is a pattern, "none" if no route
	// matched; the method is one of HTTP, or "other".
	RequestEnded(route, method string, status int, took time.Duration)
	// KeyEnded is called with what became of a request to a route that needs an
	// Idempotency-Key. A request that was refused before its key was read has no outcome.
	KeyEnded(outcome string)
	// DuplicateWaited is called with the time that a request waited for the first one.
	DuplicateWaited(d time.Duration)
	// RecordReplayed is called with the age of a record that was replayed.
	RecordReplayed(age time.Duration)
}

// unobserved is the observer of an API that nobody observes.
type unobserved struct{}

func (unobserved) RequestBegan()                                    {}
func (unobserved) RequestEnded(_, _ string, _ int, _ time.Duration) {}
func (unobserved) KeyEnded(string)                                  {}
func (unobserved) DuplicateWaited(time.Duration)                    {}
func (unobserved) RecordReplayed(time.Duration)                     {}

// The outcomes of requests with an Idempotency-Key besides those of Idempotency-Result.
const (
	// keyRefused: a final refusal was stored now.
	keyRefused = "refused"
	// keyFailed: nothing was kept, and the key is free.
	keyFailed = "failed"
)

// keyProblems are the outcomes of requests that failed because of their key, or for which
// only their key can tell the outcome.
var keyProblems = map[string]string{
	string(wire.ProblemCodeIdempotencyKeyRequired): "key_required",
	string(wire.ProblemCodeIdempotencyKeyInvalid):  "key_invalid",
	string(wire.ProblemCodeIdempotencyKeyReused):   "key_reused",
	string(wire.ProblemCodeIdempotencyKeySpent):    "key_spent",
	string(wire.ProblemCodeIdempotencyInProgress):  "in_progress",
	string(wire.ProblemCodeOutcomeUnknown):         "unknown",
}

// report reports a request that has been answered.
func (e *logEntry) report(to Observer, method string, status int, took time.Duration) {
	route := e.pattern
	if route == "" {
		route = "none"
	}
	to.RequestEnded(route, loggedMethod(method), status, took)
	if outcome := e.keyOutcome(); outcome != "" {
		to.KeyEnded(outcome)
	}
	if e.waited > 0 {
		to.DuplicateWaited(e.waited)
	}
	if !e.replayOf.IsZero() {
		to.RecordReplayed(time.Since(e.replayOf))
	}
}

// keyOutcome returns what became of a request to a guarded route, or "".
func (e *logEntry) keyOutcome() string {
	problem := keyProblems[e.code]
	switch {
	case !e.guarded:
		return ""
	case e.outcome == outcomeOf(false) && e.code != "":
		return keyRefused
	case e.outcome != "":
		return e.outcome
	case problem != "":
		return problem
	case e.key != "": // the guard was reached
		return keyFailed
	}
	return ""
}

// timedStore measures how long a request waits while another one has its key. The guard
// calls Execute until the key is free.
type timedStore struct{ idempotency.Store }

// Execute implements [idempotency.Store].
func (s timedStore) Execute(
	ctx context.Context, claim idempotency.Claim, run idempotency.Command,
) (idempotency.Record, bool, error) {
	entry := entryOf(ctx)
	if !entry.waitsSince.IsZero() {
		entry.waited = time.Since(entry.waitsSince)
	}
	rec, replayed, err := s.Store.Execute(ctx, claim, run)
	if entry.waitsSince.IsZero() && errors.Is(err, idempotency.ErrInProgress) {
		entry.waitsSince = time.Now()
	}
	return rec, replayed, err
}
