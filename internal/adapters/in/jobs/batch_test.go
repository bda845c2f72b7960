package jobs

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
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
