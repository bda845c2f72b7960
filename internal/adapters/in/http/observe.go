package httpapi

import (
	"time"

	"example.com/orders/internal/adapters/in/http/wire"
)

// Observer observes requests, for metrics.
type Observer interface {
	// RequestBegan is called when a request arrives.
	RequestBegan()
	// RequestEnded is called when it is answered. The route is a pattern, "none" if no
	// route matched; the method is an HTTP method, or "other".
	RequestEnded(route, method string, status int, took time.Duration)
	// KeyEnded is called with the outcome of a request to a route that needs an
	// Idempotency-Key. A request that was refused before its key was read has none.
	KeyEnded(outcome string)
	// DuplicateWaited is called with the time that a request waited for the first one.
	DuplicateWaited(d time.Duration)
	// RecordReplayed is called with a replayed record's age.
	RecordReplayed(age time.Duration)
}

// unobserved ignores all events.
type unobserved struct{}

func (unobserved) RequestBegan()                                    {}
func (unobserved) RequestEnded(_, _ string, _ int, _ time.Duration) {}
func (unobserved) KeyEnded(string)                                  {}
func (unobserved) DuplicateWaited(time.Duration)                    {}
func (unobserved) RecordReplayed(time.Duration)                     {}

// The outcomes of requests with an Idempotency-Key besides those in Idempotency-Result.
const (
	// keyRefused: a final refusal was stored now.
	keyRefused = "refused"
	// keyFailed: nothing was kept, and the key is free.
	keyFailed = "failed"
)

// keyProblems are the outcomes of requests that failed because of their key, or whose
// outcome only a look-up by key can resolve.
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

// keyOutcome returns a guarded request's outcome, or "" for other requests.
func (e *logEntry) keyOutcome() string {
	failure := keyProblems[e.code]
	switch {
	case !e.guarded:
		return ""
	case e.outcome == outcomeOf(false) && e.code != "":
		return keyRefused
	case e.outcome != "":
		return e.outcome
	case failure != "":
		return failure
	case e.key != "": // the guard was reached
		return keyFailed
	}
	return ""
}
