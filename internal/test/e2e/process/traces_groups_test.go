package process_test

import (
	"slices"
	"strconv"
	"testing"

	"example.com/orders/internal/test/collector"
	"example.com/orders/internal/test/e2e"
)

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
