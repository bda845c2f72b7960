package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/riverqueue/river/rivertype"
	"github.com/rs/zerolog"
)

func lineOf(t *testing.T, log *bytes.Buffer) map[string]any {
	t.Helper()
	var line map[string]any
	if err := json.Unmarshal(log.Bytes(), &line); err != nil {
		t.Fatalf("%v in %s", err, log)
	}
	return line
}

func TestErrorLog_NamesJobArgumentsAndTrace(t *testing.T) {
	t.Parallel()
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	for metadata, traceID := range map[string]any{
		`{"traceparent": "00-` + trace + `-00f067aa0ba902b7-01"}`: trace,
		`{"traceparent": "hunter2"}`:                              nil, `{}`: nil, ``: nil,
	} {
		var log bytes.Buffer
		job := &rivertype.JobRow{Kind: "settle_payment", EncodedArgs: []byte(`{"id": 17}`), Attempt: 3, Metadata: []byte(metadata)}
		errorLog{zerolog.New(&log)}.HandleError(t.Context(), job, errors.New("no answer"))
		want := map[string]any{
			"level": "error", "message": "job failed", "job": "settle_payment", "args": map[string]any{"id": 17.0}, "attempt": 3.0, "error": "no answer",
		}
		if traceID != nil {
			want["trace_id"] = traceID
		}
		if diff := cmp.Diff(want, lineOf(t, &log)); diff != "" {
			t.Errorf("%s: the line (-want +got):\n%s", metadata, diff)
		}
	}
}

// River calls an error err.
func TestRiverLog_NamesErrorsAsWeDo(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	river := slog.New(riverLog{zerolog.NewSlogHandler(zerolog.New(&log)), nil}).With("queue", "payments")
	river.Error("producer: Error fetching jobs", "err", errors.New("no connection"))
	want := map[string]any{"message": "producer: Error fetching jobs", "queue": "payments", "error": "no connection"}
	got := lineOf(t, &log)
	delete(got, "level")
	delete(got, "time")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the line (-want +got):\n%s", diff)
	}
}

// Whoever presses Ctrl-C must not see an error that this caused.
func TestRiverLog_LeavesOutWhatTheStopCaused(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	stopping := make(chan struct{})
	river := slog.New(riverLog{zerolog.NewSlogHandler(zerolog.New(&log)), stopping})
	cancelled, refused := fmt.Errorf("begin: %w", context.Canceled), errors.New("no connection")
	for _, c := range []struct {
		stop  bool
		err   error
		lines int
	}{{false, cancelled, 1}, {true, cancelled, 1}, {false, refused, 2}} {
		if c.stop {
			close(stopping)
		}
		river.Error("Error starting transaction", "err", c.err)
		if n := bytes.Count(log.Bytes(), []byte("\n")); n != c.lines {
			t.Errorf("stop %t, %v: %d lines, want %d", c.stop, c.err, n, c.lines)
		}
	}
}

// River rebuilds its indexes every night, which only their owner may do. The role of the
// service does not own them.
func TestClient_RebuildsNoIndexes(t *testing.T) {
	t.Parallel()
	cfg := clientConfig(Config{}, newSchedule(Config{}, nil), nil).WithDefaults()
	if len(cfg.ReindexerIndexNames) > 0 {
		t.Errorf("River would rebuild %v", cfg.ReindexerIndexNames)
	}
}
