package process_test

import (
	"slices"
	"strconv"
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

// Commands that share a transaction are in traces of their own: links join them.
func TestTrace_LinksTheMembersOfAGroup(t *testing.T) {
	t.Parallel()
	traces := collector.New(t)
	env := e2e.NewEnv(t)
	p := env.StartProcess(t, e2e.BuildOrders(t), append(traceSettings(traces), "ORDERS_COMMAND_LANES=1")...)
	s := env.ServiceOf(p)
	var group collector.Span
	e2e.Eventually(t, "commands share a transaction", func() bool {
		var calls []e2e.Call
		for range 16 {
			calls = append(calls, s.CreditCall(t, s.UniqueName("customer"), "1.00"))
		}
		s.SendAllTogether(t, calls)
		spans := traces.Spans()
		i := slices.IndexFunc(spans, func(span collector.Span) bool { return span.Name == "command group" && len(span.Links) >= 2 })
		if i >= 0 {
			group = spans[i]
		}
		return i >= 0
	})
	if got, want := group.Attributes["orders.group.size"], strconv.Itoa(len(group.Links)+1); got != want {
		t.Errorf("the group has the size %s, want %s: its parent and its links", got, want)
	}
	if trips := below(traces, group, "client"); len(trips) == 0 {
		t.Error("the group has no round trips")
	}
	for _, id := range append(slices.Clone(group.Links), group.Parent) {
		member := await(t, traces, "of a member", func(span collector.Span) bool { return span.ID == id })
		if member.Name != "group member" || !slices.Contains(member.Links, group.ID) {
			t.Errorf("the member is %+v, want a link to the group", member)
		}
		guard := await(t, traces, "of its guard", func(span collector.Span) bool { return span.ID == member.Parent })
		if guard.Name != "idempotency guard" || guard.TraceID != member.TraceID {
			t.Errorf("the member is below %+v", guard)
		}
	}
}
