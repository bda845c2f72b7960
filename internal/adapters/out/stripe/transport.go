package stripe

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"example.com/orders/internal/tracing"
)

// maxResponse bounds a response. A page of a hundred charges has less than a megabyte.
const maxResponse = 8 << 20

// errRedirected is the error of a call that is answered with a redirect. Stripe never
// does that.
var errRedirected = errors.New("the response is a redirect")

// transport distrusts responses. A redirect would take our key to whoever it names, and
// a response without an end would take our memory.
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

// traced makes a span of a call that belongs to a trace. The provider gets no traceparent: it
// has no use for it, and our traces are no concern of others.
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

// pathWords are the parts of paths that are no IDs.
var pathWords = []string{"", "v1", "payment_intents", "refunds", "search", "cancel"}

// templateOf returns a path without IDs.
func templateOf(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if !slices.Contains(pathWords, part) {
			parts[i] = "{id}"
		}
	}
	return strings.Join(parts, "/")
}
