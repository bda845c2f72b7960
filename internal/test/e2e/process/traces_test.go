package process_test

import (
	"slices"
	"strings"
	"testing"

	"example.com/orders/internal/test/collector"
	"example.com/orders/internal/test/e2e"
)

// The trace of a caller.
const (
	traceID     = "4bf92f3577b34da6a3ce929d0e0e4736"
	callerSpan  = "00f067aa0ba902b7"
	traceparent = "00-" + traceID + "-" + callerSpan + "-01"
)

// traceSettings returns the settings of a process that sends its traces soon.
func traceSettings(c *collector.Collector) []string {
	return []string{"ORDERS_OTLP_ENDPOINT=" + c.URL, "OTEL_BSP_SCHEDULE_DELAY=50"}
}

// await waits for a span, and returns the first that fits.
func await(t testing.TB, c *collector.Collector, what string, fits func(collector.Span) bool) collector.Span {
	t.Helper()
	var found collector.Span
	e2e.Eventually(t, "the span "+what, func() bool {
		spans := c.Spans()
		i := slices.IndexFunc(spans, fits)
		if i >= 0 {
			found = spans[i]
		}
		return i >= 0
	})
	return found
}

// awaitIn waits for the span of the caller's trace with a name.
func awaitIn(t testing.TB, c *collector.Collector, name string) collector.Span {
	t.Helper()
	return await(t, c, name, func(s collector.Span) bool { return s.TraceID == traceID && s.Name == name })
}

// below returns the names of the spans of a kind below a span, in the order of their end.
func below(c *collector.Collector, parent collector.Span, kind string) []string {
	var names []string
	for _, span := range c.Spans() {
		if span.Parent == parent.ID && span.Kind == kind {
			names = append(names, span.Name)
		}
	}
	return names
}

// wantChild reports a span that has another parent or kind, or lacks an attribute.
func wantChild(t testing.TB, span collector.Span, parent, kind string, attributes map[string]string) {
	t.Helper()
	if span.Parent != parent || span.Kind != kind || span.Failed {
		t.Errorf("%s: parent %s, kind %s, failed %t; want parent %s, kind %s", span.Name, span.Parent, span.Kind, span.Failed, parent, kind)
	}
	for name, want := range attributes {
		if got := span.Attributes[name]; got != want {
			t.Errorf("%s: %s is %q, want %q", span.Name, name, got, want)
		}
	}
}

// lineWith returns the line of a log that contains all texts.
func lineWith(log string, texts ...string) string {
	for line := range strings.Lines(log) {
		if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(line, text) }) {
			return line
		}
	}
	return ""
}
