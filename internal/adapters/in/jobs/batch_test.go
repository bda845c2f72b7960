package jobs

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestBatchJob_PausesNineTimesAsLongAsABatchTakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const took = 10 * time.Millisecond
		batches, start := 0, time.Now()
		w := &batchWorker[cleanIdempotencyRecords]{run: func(context.Context, int) (int, error) {
			time.Sleep(took)
			batches++
			return batchSize, nil // there is always more
		}}
		if err := w.Work(t.Context(), nil); err != nil {
			t.Error(err)
		}
		want := int(maxRunTime / ((1 + pauseFactor) * took))
		if batches != want || time.Since(start) != maxRunTime {
			t.Errorf("%d batches in %v, want %d in %v", batches, time.Since(start), want, maxRunTime)
		}
	})
}

func TestBatchJob_EndsAfterItsBatch(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	tests := map[string]struct {
		end  func(stop, cancel func()) error // called during the first batch
		want error
	}{
		"when the runner stops":           {func(stop, _ func()) error { stop(); return nil }, nil},
		"when it is cancelled":            {func(_, cancel func()) error { cancel(); return nil }, context.Canceled},
		"when the batch returns an error": {func(_, _ func()) error { return broken }, broken},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				stopping := make(chan struct{})
				batches := 0
				w := &batchWorker[cleanIdempotencyRecords]{
					stopping: stopping,
					run: func(context.Context, int) (int, error) {
						time.Sleep(time.Second)
						batches++
						return batchSize, test.end(func() { close(stopping) }, cancel)
					},
				}
				if err := w.Work(ctx, nil); !errors.Is(err, test.want) || batches != 1 {
					t.Errorf("%d batches, err = %v; want 1, %v", batches, err, test.want)
				}
			})
		})
	}
}
