package traces_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/orders/internal/test/collector"
	"example.com/orders/internal/test/e2e"
)

// stopProcess stops a process, so that it has sent all that it sends.
func stopProcess(t *testing.T, p *e2e.Process) {
	t.Helper()
	p.WantEnd(t, p.Terminate(t), 30*time.Second)
}

// wantAnswer sends a request that belongs to the caller's trace.
func wantAnswer(t *testing.T, s *e2e.Service, header http.Header) {
	t.Helper()
	if r := s.Send(t, e2e.Call{Method: "GET", Path: "/openapi.yaml", Header: header}); r.Status != http.StatusOK {
		t.Errorf("status %d", r.Status)
	}
}

func TestTrace_RespectsTheSampler(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	binary := e2e.BuildOrders(t)
	for name, c := range map[string]struct {
		sampler  []string
		own, all int // spans of the caller's trace, and all spans
	}{
		"the default":       {nil, 1, 2},
		"only callers":      {[]string{"OTEL_TRACES_SAMPLER=parentbased_always_off"}, 1, 1},
		"no caller decides": {[]string{"OTEL_TRACES_SAMPLER=traceidratio", "OTEL_TRACES_SAMPLER_ARG=0"}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			traces := collector.New(t)
			p := env.StartProcess(t, binary, append(traceSettings(traces), c.sampler...)...)
			s := env.ServiceOf(p)
			wantAnswer(t, s, nil)
			wantAnswer(t, s, http.Header{"Traceparent": {traceparent}})
			stopProcess(t, p)
			own := 0
			for _, span := range traces.Spans() {
				if span.TraceID == traceID {
					own++
				}
			}
			if own != c.own || len(traces.Spans()) != c.all {
				t.Errorf("%d spans, %d of them of the caller's trace; want %d and %d", len(traces.Spans()), own, c.all, c.own)
			}
			if n := strings.Count(p.Log(), `"trace_id":"`+traceID+`"`); n != 1 {
				t.Errorf("%d lines have the ID of the trace, want 1", n)
			}
		})
	}
}

// Without our setting nothing is traced, whatever the standard variables say.
func TestTrace_IsOffWithoutACollector(t *testing.T) {
	t.Parallel()
	traces := collector.New(t)
	env := e2e.NewEnv(t)
	p := env.StartProcess(t, e2e.BuildOrders(t), "OTEL_EXPORTER_OTLP_ENDPOINT="+traces.URL, "OTEL_TRACES_SAMPLER=always_on")
	wantAnswer(t, env.ServiceOf(p), http.Header{"Traceparent": {traceparent}})
	stopProcess(t, p)
	if spans := traces.Spans(); len(spans) > 0 || strings.Contains(p.Log(), "trace_id") {
		t.Errorf("%d spans were sent; the log is %s", len(spans), p.Log())
	}
}

// A collector that is gone costs a line in the log, and no request.
func TestTrace_DoesWithoutTheCollector(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	p := env.StartProcess(t, e2e.BuildOrders(t), "ORDERS_OTLP_ENDPOINT=http://"+e2e.FreeAddr(t), "OTEL_BSP_SCHEDULE_DELAY=50")
	s := env.ServiceOf(p)
	e2e.Eventually(t, "the log says that the collector is gone", func() bool {
		s.Credit(t, e2e.Alice, "1.00")
		return strings.Contains(p.Log(), "trace export failed")
	})
	s.Credit(t, e2e.Alice, "1.00")
	stopProcess(t, p)
	if n := strings.Count(p.Log(), "trace export failed"); n != 1 {
		t.Errorf("%d lines say that the collector is gone, want 1:\n%s", n, p.Log())
	}
}
