package httpapi

import (
	"context"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"example.com/orders/internal/adapters/in/http/problem"
	"example.com/orders/internal/observe/tracing"
)

// trace starts a request's span. Probes and untraced requests have ctx's span, which
// does nothing.
//
// The attributes are those semantic conventions for HTTP that cannot contain a client's
// inventions: not the path, the query or the user agent (AUTH-16).
func (a *api) trace(ctx context.Context, r *http.Request) (context.Context, trace.Span) {
	if a.Tracer == nil || strings.HasPrefix(r.URL.Path, "/health/") {
		return ctx, trace.SpanFromContext(ctx)
	}
	ctx, span := tracing.Continue(ctx, a.Tracer, r.Header.Get(tracing.Header), tracedMethod(r), trace.SpanKindServer)
	entryOf(ctx).traceID = tracing.ID(ctx)
	return ctx, span
}

// endSpan ends a request's span with its outcome.
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
		attribute.String("http.request.method", tracedMethod(r)), attribute.String("url.scheme", scheme),
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

// endGuard ends the guard's span. Its outcome is the Idempotency-Result, or the problem
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
