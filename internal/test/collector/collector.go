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

	service "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	wire "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
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
	var export service.ExportTraceServiceRequest
	if err != nil || proto.Unmarshal(body, &export) != nil {
		http.Error(w, "no spans", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text.WriteString(prototext.Format(&export))
	for _, of := range export.ResourceSpans {
		for _, in := range of.ScopeSpans {
			for _, span := range in.Spans {
				c.spans = append(c.spans, spanOf(span, valuesOf(of.Resource.Attributes)))
			}
		}
	}
}

func spanOf(span *wire.Span, resource map[string]string) Span {
	links := make([]string, len(span.Links))
	for i, link := range span.Links {
		links[i] = fmt.Sprintf("%x", link.SpanId)
	}
	return Span{
		Name: span.Name, TraceID: fmt.Sprintf("%x", span.TraceId), ID: fmt.Sprintf("%x", span.SpanId), Parent: fmt.Sprintf("%x", span.ParentSpanId),
		Kind:   strings.ToLower(strings.TrimPrefix(span.Kind.String(), "SPAN_KIND_")),
		Failed: span.Status.GetCode() == wire.Status_STATUS_CODE_ERROR, Attributes: valuesOf(span.Attributes), Resource: resource, Links: links,
	}
}

func valuesOf(attributes []*common.KeyValue) map[string]string {
	values := map[string]string{}
	for _, a := range attributes {
		switch v := a.Value.Value.(type) {
		case *common.AnyValue_StringValue:
			values[a.Key] = v.StringValue
		case *common.AnyValue_IntValue:
			values[a.Key] = fmt.Sprint(v.IntValue)
		default:
			values[a.Key] = a.Value.String()
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
