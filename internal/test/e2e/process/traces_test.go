package process_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"example.com/orders/internal/adapters/in/events"
	outnats "example.com/orders/internal/adapters/out/nats"
	devbroker "example.com/orders/internal/dev/broker"
	"example.com/orders/internal/observe/version"
	"example.com/orders/internal/test/collector"
	"example.com/orders/internal/test/e2e"
	natstest "example.com/orders/internal/test/nats"
	pgtest "example.com/orders/internal/test/pg"
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

// A payment by card is one trace, from the request to the event of its capture.
func TestTrace_FollowsAPaymentByCard(t *testing.T) {
	t.Parallel()
	traces, broker, provider := collector.New(t), natstest.New(t), e2e.StartCardProvider(t, pgtest.New(t))
	env := e2e.NewEnv(t)
	p := env.StartProcess(t, e2e.BuildOrders(t), slices.Concat(traceSettings(traces), e2e.CardSettings(provider.URL),
		[]string{"ORDERS_NATS_URL=" + broker.URL(), "OTEL_RESOURCE_ATTRIBUTES=deployment.environment=test"})...)
	s := env.ServiceOf(p)
	s.StockUp(t, e2e.Stock{"tea": 10})
	o := s.MustCreateOrder(t, e2e.Alice, "tea", 1)
	s.MustSend(t, s.CardCall(t, o.ID, "pm_card_visa").WithHeader("traceparent", traceparent))

	const route = "/orders/{order_id}/payment/confirm"
	request := awaitIn(t, traces, "POST "+route)
	wantChild(t, request, callerSpan, "server", map[string]string{
		"http.request.method": "POST", "http.route": route, "http.response.status_code": "200", "url.scheme": "http",
	})
	if request.Resource["service.name"] != "orders" || request.Resource["service.version"] != version.Number ||
		request.Resource["deployment.environment"] != "test" {
		t.Errorf("the resource is %v", request.Resource)
	}
	guard := awaitIn(t, traces, "idempotency guard")
	wantChild(t, guard, request.ID, "internal", map[string]string{"orders.idempotency.outcome": "created"})
	wantRoundTrips(t, traces, guard)

	job := awaitIn(t, traces, "job settle_payment")
	wantChild(t, job, guard.ID, "consumer", map[string]string{"orders.job.attempt": "1"})
	call := awaitIn(t, traces, "POST /v1/payment_intents")
	wantChild(t, call, job.ID, "client", map[string]string{"http.response.status_code": "200", "server.address": "127.0.0.1"})
	captured := awaitIn(t, traces, "publish payment.captured")
	wantChild(t, captured, job.ID, "producer", map[string]string{"messaging.destination.name": "orders.events.payment.captured"})
	wantChild(t, awaitIn(t, traces, "publish payment.processing"), guard.ID, "producer", nil)
	if got := parentOfMessage(t, broker, "payment.captured"); got != "00-"+traceID+"-"+captured.ID+"-01" {
		t.Errorf("the message has the traceparent %q, want the span %s", got, captured.ID)
	}
	if line := lineWith(p.Log(), `"route":"`+route+`"`); !strings.Contains(line, `"trace_id":"`+traceID+`"`) {
		t.Errorf("the line of the request is %s", line)
	}
}

// wantRoundTrips wants a span for each round trip of a command: to begin, to load, and to
// write and commit. The load also draws blocks of IDs.
func wantRoundTrips(t *testing.T, traces *collector.Collector, guard collector.Span) {
	t.Helper()
	trips := below(traces, guard, "client")
	if len(trips) != 3 || !strings.Contains(trips[1], "LockOrder,") || trips[0] != "begin, ClaimKeys, FindRecords" || !strings.HasSuffix(trips[2], "InsertRecord, commit") {
		t.Errorf("the round trips are %q, want three", trips)
	}
}

// parentOfMessage returns the traceparent of the message of an event.
func parentOfMessage(t *testing.T, broker *devbroker.Broker, eventType string) string {
	t.Helper()
	for _, msg := range natstest.Read(t, broker, outnats.Stream) {
		if msg.Subject() == outnats.SubjectPrefix+eventType {
			return msg.Headers().Get("traceparent")
		}
	}
	return ""
}

// A message of the warehouse continues the trace of its sender.
func TestTrace_ContinuesInTheConsumer(t *testing.T) {
	t.Parallel()
	traces, broker := collector.New(t), natstest.New(t)
	env := e2e.NewEnv(t)
	p := env.StartProcess(t, e2e.BuildOrders(t), append(traceSettings(traces), "ORDERS_NATS_URL="+broker.URL())...)
	const body = `{"specversion": "1.0", "id": "m-1", "source": "/warehouse/1", "type": "inventory.restocked",
		"data": {"sku": "unknown", "quantity": 1}}`
	msg, js := &nats.Msg{Subject: events.Subject, Data: []byte(body), Header: nats.Header{"traceparent": {traceparent}}}, natstest.JetStream(t, broker)
	e2e.Eventually(t, "the stream takes the message", func() bool {
		_, err := js.PublishMsg(t.Context(), msg)
		return err == nil
	})
	span := awaitIn(t, traces, "process inventory.restocked")
	wantChild(t, span, callerSpan, "consumer", map[string]string{"messaging.system": "nats"})
	e2e.Eventually(t, "the dead letter has a line with its trace", func() bool {
		return lineWith(p.Log(), `"message":"message dead-lettered"`, `"trace_id":"`+traceID+`"`) != ""
	})
}
