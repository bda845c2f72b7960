package stripe

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"example.com/orders/internal/observe/tracing"
)

// maxResponse bounds a response. A page with a hundred charges has less than a
// megabyte.
const maxResponse = 8 << 20

// errRedirected reports a redirect, which Stripe never sends.
var errRedirected = errors.New("the response is a redirect")

// transport distrusts responses. A redirect could leak our key, and an endless response
// would exhaust memory.
type transport struct{ http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.traced(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 == 3 {
		_ = resp.Body.Close()
		return nil, errRedirected
	}
	resp.Body = http.MaxBytesReader(nil, resp.Body, maxResponse)
	return resp, nil
}

// traced adds a span if the request belongs to a trace. It sends no traceparent,
// because our traces do not concern the provider.
func (t transport) traced(r *http.Request) (*http.Response, error) {
	if !trace.SpanFromContext(r.Context()).IsRecording() {
		return t.RoundTripper.RoundTrip(r)
	}
	template := templateOf(r.URL.Path)
	ctx, span := tracing.Start(r.Context(), r.Method+" "+template, trace.SpanKindClient)
	defer span.End()
	span.SetAttributes(
		attribute.String("http.request.method", r.Method), attribute.String("url.template", template),
		attribute.String("server.address", r.URL.Hostname()))
	resp, err := t.RoundTripper.RoundTrip(r.WithContext(ctx))
	if err != nil || resp.StatusCode >= http.StatusBadRequest {
		span.SetStatus(codes.Error, "")
	}
	if err == nil {
		span.SetAttributes(attribute.Int("http.response.status_code", resp.StatusCode))
	}
	return resp, err
}

// pathWords are the path elements that are not IDs.
var pathWords = []string{"", "v1", "payment_intents", "refunds", "search", "cancel"}

// templateOf replaces the IDs in a path.
func templateOf(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if !slices.Contains(pathWords, part) {
			parts[i] = "{id}"
		}
	}
	return strings.Join(parts, "/")
}
