// Package cors says which pages may call the API.
package cors

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rs/cors"
)

// preflightAge is how long a browser may cache a preflight response.
const preflightAge = 10 * time.Minute

// tracingHeaders are the headers that monitoring in the browser adds to the requests of
// a page. The service reads traceparent only, but a browser refuses the whole request
// if one header is not allowed. The service ignores them, so every vendor may add more.
var tracingHeaders = []string{
	"traceparent", "tracestate", "baggage", // W3C: OpenTelemetry, and most of the vendors below
	"sentry-trace",
	"x-datadog-origin", "x-datadog-parent-id", "x-datadog-sampling-priority", "x-datadog-tags", "x-datadog-trace-id",
	"newrelic",
	"elastic-apm-traceparent",
	"b3", "X-B3-TraceId", "X-B3-SpanId", "X-B3-ParentSpanId", "X-B3-Sampled", "X-B3-Flags", // Zipkin
	"Request-Id", "Request-Context", // Azure Application Insights
	"X-Amzn-Trace-Id",
	"X-Cloud-Trace-Context",
	"uber-trace-id", // Jaeger
	"sw8",           // SkyWalking
}

// webhooks is the path prefix that no page calls.
const webhooks = "/webhooks/"

// Allow returns the middleware that lets pages with these origins call the API by these
// methods, and read every response. With no origins it is a no-op. Browsers refuse all
// other pages.
func Allow(origins, methods []string) func(http.Handler) http.Handler {
	if len(origins) == 0 { // the library would take this for every origin
		return func(next http.Handler) http.Handler { return next }
	}
	handler := cors.New(cors.Options{
		AllowedOrigins: origins,
		AllowedMethods: methods,
		AllowedHeaders: slices.Concat(
			[]string{"Authorization", "Content-Type", "Idempotency-Key", "If-Match",
				"If-None-Match", "X-Request-Id"}, tracingHeaders),
		ExposedHeaders: []string{
			"ETag", "Idempotency-Expires", "Idempotency-Key", "Idempotency-Result", "Idempotent-Replayed",
			"Location", "Retry-After", "WWW-Authenticate", "X-Request-Id",
		},
		MaxAge: int(preflightAge.Seconds()),
		// Tokens come in a header. A browser must not add cookies or client certificates.
		AllowCredentials: false,
	})
	return func(next http.Handler) http.Handler {
		shared := handler.Handler(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, webhooks) {
				next.ServeHTTP(w, r)
				return
			}
			shared.ServeHTTP(w, r)
		})
	}
}
