// Package collector is a trace collector for tests. It accepts OTLP over HTTP and keeps
// the spans.
package collector

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Collector keeps the spans that it receives.
type Collector struct {
	URL string

	mu    sync.Mutex
	spans []Span
	text  strings.Builder
}

// Span is a span as a process has sent it. IDs are hexadecimal.
type Span struct {
	Name, TraceID, ID, Parent string
	// Kind is server, client, internal, producer or consumer.
	Kind       string
	Failed     bool
	Attributes map[string]string
	Resource   map[string]string
	// Links are the IDs of linked spans.
	Links []string
}

// New starts a collector that runs until the test ends.
func New(t testing.TB) *Collector {
	t.Helper()
	c := &Collector{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", c.take)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

func (c *Collector) take(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	export, ok := parse(body)
	if err != nil || !ok {
		http.Error(w, "no spans", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text.Write(body) // texts are themselves in protocol buffers
	for _, of := range export.messages(exportResourceSpans) {
		resource := valuesOf(of.message(resourceSpansResource).messages(resourceAttributes))
		for _, in := range of.messages(resourceSpansScopeSpans) {
			for _, span := range in.messages(scopeSpansSpans) {
				c.spans = append(c.spans, spanOf(span, resource))
			}
		}
	}
}

var kinds = []string{"unspecified", "internal", "server", "client", "producer", "consumer"}

func spanOf(span message, resource map[string]string) Span {
	links := []string{}
	for _, link := range span.messages(spanLinks) {
		links = append(links, fmt.Sprintf("%x", link.text(linkSpanID)))
	}
	return Span{
		Name: span.text(spanName), TraceID: fmt.Sprintf("%x", span.text(spanTraceID)), ID: fmt.Sprintf("%x", span.text(spanID)),
		Parent: fmt.Sprintf("%x", span.text(spanParentID)), Kind: kinds[span.number(spanKind)],
		Failed:     span.message(spanStatus).number(statusCode) == statusError,
		Attributes: valuesOf(span.messages(spanAttributes)), Resource: resource, Links: links,
	}
}

// valuesOf returns strings and integers as text, and other values as their bytes.
func valuesOf(attributes []message) map[string]string {
	values := map[string]string{}
	for _, a := range attributes {
		value := a.message(keyValueValue)
		values[a.text(keyValueKey)] = value.text(anyString)
		if integers := value[anyInt]; len(integers) > 0 {
			values[a.text(keyValueKey)] = fmt.Sprint(integers[0].number)
		}
	}
	return values
}

// Spans returns the spans so far.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// Text returns all received data as text.
func (c *Collector) Text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}
