package observe

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// stubExporter fails with err.
type stubExporter struct {
	sdktrace.SpanExporter
	err error
}

func (e *stubExporter) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return e.err }

// A collector that is down for a day must not fill the log.
func TestLoggedExporter_LogsWhenTheCollectorChanges(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	stub := &stubExporter{}
	e := &loggedExporter{SpanExporter: stub, log: zerolog.New(&log)}
	for _, step := range []struct {
		err  error
		want string
	}{
		{nil, ""}, {errors.New("refused"), "trace export failed"}, {errors.New("refused"), ""},
		{nil, "trace export works again"}, {nil, ""}, {errors.New("refused"), "trace export failed"},
	} {
		log.Reset()
		stub.err = step.err
		if err := e.ExportSpans(t.Context(), nil); err != nil {
			t.Errorf("the exporter returns %v, which the SDK would log, too", err)
		}
		if (step.want == "") != (log.Len() == 0) || !strings.Contains(log.String(), step.want) {
			t.Errorf("after %v the log is %q, want %q", step.err, &log, step.want)
		}
	}
}

func TestDescribeProcess_TellsReplicasApart(t *testing.T) {
	t.Parallel()
	instances := map[string]bool{}
	for range 2 {
		described, err := describeProcess(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		id, _ := described.Set().Value("service.instance.id")
		name, _ := described.Set().Value("service.name")
		if instances[id.AsString()] = true; id.AsString() == "" || name.AsString() != "orders" {
			t.Errorf("the process is %v", described)
		}
	}
	if len(instances) != 2 {
		t.Errorf("two processes have the instances %v", instances)
	}
}

func TestTraces_WarnAboutAnEndpointThatIsNotOurs(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
	var log bytes.Buffer
	if traces, err := NewTraces(t.Context(), "", zerolog.New(&log)); traces != nil || err != nil {
		t.Errorf("%v, %v", traces, err)
	}
	if !strings.Contains(log.String(), `"level":"warn"`) || !strings.Contains(log.String(), "ORDERS_OTLP_ENDPOINT is not") {
		t.Errorf("the log is %s", &log)
	}
}
