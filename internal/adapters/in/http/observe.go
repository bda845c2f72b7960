package httpapi

import (
	"context"
	"net/http"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"example.com/orders/internal/adapters/in/http/problem"
	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/observe/tracing"
)

// Observer observes requests, for metrics.
type Observer interface {
	// RequestBegan is called when a request arrives.
	RequestBegan()
	// RequestEnded is called when it is answered. The route is a pattern, "none" if no
	// route matched; the method is an HTTP method, or "other".
	RequestEnded(route, method string, status int, took time.Duration)
	// KeyEnded is called with the outcome of a request to a route that needs an
	// Idempotency-Key. A request that was refused before the key was read has no
	// outcome.
	KeyEnded(outcome string)
	// DuplicateWaited is called with the time that a request waited for the first one.
	DuplicateWaited(d time.Duration)
	// RecordReplayed is called with a replayed record's age.
	RecordReplayed(age time.Duration)
}

// The outcomes of requests with an Idempotency-Key in addition to those in
// Idempotency-Result.
const (
	// keyRefused: a final refusal was stored now.
	keyRefused = "refused"
	// keyFailed: no record was kept, and the key is free.
	keyFailed = "failed"
)

// keyProblems are the outcomes of requests that failed because of their key, or with an
// outcome that only a look-up by key can resolve.
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

// trace starts a request's span. Probes and untraced requests have the span in ctx, a
// no-op.
//
// The attributes are those semantic conventions for HTTP that cannot contain client
// inventions: not the path, the query or the user agent (AUTH-16).
func (a *api) trace(ctx context.Context, r *http.Request) (context.Context, trace.Span) {
	if a.Tracer == nil || strings.HasPrefix(r.URL.Path, "/health/") {
		return ctx, trace.SpanFromContext(ctx)
	}
	parent := r.Header.Get(tracing.Header)
	ctx, span := tracing.Continue(ctx, a.Tracer, parent, tracedMethod(r), trace.SpanKindServer)
	entryOf(ctx).traceID = tracing.ID(ctx)
	return ctx, span
}

// endSpan ends a request's span with the outcome.
func endSpan(span trace.Span, r *http.Request, entry *logEntry, status int) {
	defer span.End()
	if !span.IsRecording() {
		return
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	span.SetAttributes(
		attribute.String("http.request.method", tracedMethod(r)),
		attribute.String("url.scheme", scheme),
		attribute.Int("http.response.status_code", status))
	if entry.pattern != "" {
		span.SetName(tracedMethod(r) + " " + entry.pattern)
		span.SetAttributes(attribute.String("http.route", entry.pattern))
	}
	if status >= http.StatusInternalServerError {
		span.SetAttributes(attribute.String("error.type", entry.code))
		span.SetStatus(codes.Error, "")
	}
}

// tracedMethod returns the method as the semantic conventions write it.
func tracedMethod(r *http.Request) string {
	if method := loggedMethod(r.Method); method != otherMethod {
		return method
	}
	return "_OTHER"
}

// endGuard ends the guard span. The outcome is the Idempotency-Result, or the problem
// code with which the guarded request was refused.
func endGuard(span trace.Span, entry *logEntry, err error) {
	defer span.End()
	if !span.IsRecording() {
		return
	}
	outcome := entry.outcome
	if err != nil {
		outcome = string(problem.Of(err).Code)
	}
	span.SetAttributes(attribute.String("orders.idempotency.outcome", outcome))
	if err == nil && entry.code != "" {
		span.SetAttributes(attribute.String("orders.problem.code", entry.code)) // of a refusal that was stored
	}
}
