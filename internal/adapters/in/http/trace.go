package httpapi

import (
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"example.com/orders/internal/tracing"
)

// traced is the middleware that makes a span of each request. Probes have none.
//
// The attributes are those of the semantic conventions for HTTP that cannot contain what a
// client has made up: not the path, the query or the user agent (AUTH-16).
func (a *api) traced(next http.Handler) http.Handler {
	if a.Tracer == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/health/") {
			next.ServeHTTP(w, r)
			return
		}
		ctx, span := tracing.Continue(r.Context(), a.Tracer, r.Header.Get(tracing.Header), tracedMethod(r), trace.SpanKindServer)
		defer span.End()
		entry := entryOf(ctx)
		entry.traceID = tracing.ID(ctx)
		next.ServeHTTP(w, r.WithContext(ctx))
		if span.IsRecording() {
			describeRequest(span, r, entry, statusOf(w))
		}
	})
}

// describeRequest adds to a span what is known when the request has been answered.
func describeRequest(span trace.Span, r *http.Request, entry *logEntry, status int) {
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

// statusOf returns the status that was sent, which the writer of the log has noted.
func statusOf(w http.ResponseWriter) int {
	noted, _ := w.(interface{ Status() int })
	if noted == nil {
		return 0
	}
	return noted.Status()
}

// tracedMethod returns the method as the semantic conventions write it.
func tracedMethod(r *http.Request) string {
	if method := loggedMethod(r.Method); method != otherMethod {
		return method
	}
	return "_OTHER"
}

// endGuard ends the span of the guard. Its outcome is the Idempotency-Result, or the code
// of the problem with which the guarded request was refused.
func endGuard(span trace.Span, entry *logEntry, err error) {
	defer span.End()
	if !span.IsRecording() {
		return
	}
	outcome := entry.outcome
	if err != nil {
		outcome = string(problemOf(err).code)
	}
	span.SetAttributes(attribute.String("orders.idempotency.outcome", outcome))
	if err == nil && entry.code != "" {
		span.SetAttributes(attribute.String("orders.problem.code", entry.code)) // of a refusal that was stored
	}
}
