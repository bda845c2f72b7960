package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/riverqueue/river/rivertype"
	"github.com/rs/zerolog"
)

func TestBatchJob_PausesNineTimesAsLongAsABatchTakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const took = 10 * time.Millisecond
		batches, start := 0, time.Now()
		w := &batchWorker[cleanIdempotencyRecords]{pace: gentle(time.Minute), run: func(context.Context, int) (int, error) {
			time.Sleep(took)
			batches++
			return batchSize, nil // there is always more
		}}
		if err := w.Work(t.Context(), nil); err != nil {
			t.Error(err)
		}
		want := int(w.maxRun / (10 * took))
		if batches != want || time.Since(start) != w.maxRun {
			t.Errorf("%d batches in %v, want %d in %v", batches, time.Since(start), want, w.maxRun)
		}
	})
}

// Rows that fail do not end a run: others may be behind them.
func TestBatchJob_GoesOnAfterRowsThatFail(t *testing.T) {
	t.Parallel()
	first, second := errors.New("first"), errors.New("second")
	results := []struct {
		n   int
		err error
	}{{batchSize, first}, {batchSize, nil}, {1, second}}
	batches := 0
	w := &batchWorker[releaseExpiredReservations]{pace: prompt(reservationsQueue, time.Second), run: func(context.Context, int) (int, error) {
		batches++
		return results[batches-1].n, results[batches-1].err
	}}
	if err := w.Work(t.Context(), nil); batches != 3 || !errors.Is(err, first) || !errors.Is(err, second) {
		t.Errorf("%d batches, err = %v; want 3 and both errors", batches, err)
	}
}

func TestBatchJob_EndsAfterItsBatch(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	tests := map[string]struct {
		end  func(stop, cancel func()) (int, error) // called during the first batch
		want error
	}{
		"when the runner stops": {func(stop, _ func()) (int, error) { stop(); return batchSize, nil }, nil},
		"when it is cancelled":  {func(_, cancel func()) (int, error) { cancel(); return batchSize, nil }, context.Canceled},
		"when it finds nothing": {func(_, _ func()) (int, error) { return 0, broken }, broken},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				stopping := make(chan struct{})
				batches := 0
				w := &batchWorker[cleanIdempotencyRecords]{
					pace: gentle(time.Minute), stopping: stopping,
					run: func(context.Context, int) (int, error) {
						time.Sleep(time.Second)
						batches++
						return test.end(func() { close(stopping) }, cancel)
					},
				}
				if err := w.Work(ctx, nil); !errors.Is(err, test.want) || batches != 1 {
					t.Errorf("%d batches, err = %v; want 1, %v", batches, err, test.want)
				}
			})
		})
	}
}

func TestInOrder_ContinuesWhereTheLastCallEnded(t *testing.T) {
	t.Parallel()
	const rows, limit = 7, 3
	broken := errors.New("broken")
	ctx, cancel := context.WithCancel(t.Context())
	var begun []int
	run := InOrder(func(_ context.Context, after, limit int) (int, int, error) {
		begun = append(begun, after)
		if len(begun) == 6 {
			cancel()
			return after + 1, 1, context.Canceled
		}
		found := min(limit, rows-after)
		return after + found, found, broken // some rows always fail
	})
	for range 5 {
		_, _ = run(t.Context(), limit)
	}
	for range 2 {
		_, _ = run(ctx, limit)
	}
	if want := []int{0, 3, 6, 0, 3, 6, 7}; !slices.Equal(begun, want) {
		t.Errorf("the calls began after rows %v, want %v", begun, want)
	}
}

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

func newRiverLog(out io.Writer, stopping <-chan struct{}) *slog.Logger {
	return slog.New(riverLog{zerolog.NewSlogHandler(zerolog.New(out)), stopping, new(atomic.Int64)})
}

// River calls an error err.
func TestRiverLog_NamesErrorsAsWeDo(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	newRiverLog(&log, nil).Error("producer: Error fetching jobs", "err", errors.New("no connection"), "queue", "payments")
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
	cancelled, refused := fmt.Errorf("begin: %w", context.Canceled), errors.New("no connection")
	for _, c := range []struct {
		stop  bool
		err   error
		lines int
	}{{false, cancelled, 1}, {true, cancelled, 1}, {false, refused, 2}} {
		if c.stop {
			close(stopping)
		}
		newRiverLog(&log, stopping).Error("Error starting transaction", "err", c.err)
		if n := bytes.Count(log.Bytes(), []byte("\n")); n != c.lines {
			t.Errorf("stop %t, %v: %d lines, want %d", c.stop, c.err, n, c.lines)
		}
	}
}

func TestRiverLog_HasOneErrorForEachOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		river := newRiverLog(&log, nil)
		for i := range 40 { // 20 s
			river.Error("Error fetching jobs", []string{"err", "error"}[i%2], "read-only")
			time.Sleep(time.Second / 2)
		}
		river.Warn("not about the database")
		time.Sleep(outage)
		river.Error("Error fetching jobs", "err", "read-only")
		if n := bytes.Count(log.Bytes(), []byte("\n")); n != 3 {
			t.Errorf("%d lines, want an error, a warning, and the error of the next outage:\n%s", n, &log)
		}
	})
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
