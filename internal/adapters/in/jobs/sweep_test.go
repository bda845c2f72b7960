package jobs

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A sweep that always finds more works a tenth of its time.
func TestASweepRestsBetweenBatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const took = 10 * time.Millisecond
		batches, start := 0, time.Now()
		s := &sweeper[cleanKeys]{sweep: func(context.Context, int) (int, error) {
			time.Sleep(took)
			batches++
			return batch, nil
		}}
		if err := s.Work(t.Context(), nil); err != nil {
			t.Error(err)
		}
		if want := int(sweepFor / ((1 + rests) * took)); batches != want || time.Since(start) != sweepFor {
			t.Errorf("%d batches in %v, want %d in %v", batches, time.Since(start), want, sweepFor)
		}
	})
}

func TestASweepEndsAfterItsBatch(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		end  func(stop, cancel func()) error
		want error
	}{
		"when the jobs stop":   {func(stop, _ func()) error { stop(); return nil }, nil},
		"when it is cancelled": {func(_, cancel func()) error { cancel(); return nil }, context.Canceled},
		"when it fails":        {func(_, _ func()) error { return broken }, broken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				stopping := make(chan struct{})
				batches := 0
				s := &sweeper[cleanKeys]{stopping: stopping, sweep: func(context.Context, int) (int, error) {
					time.Sleep(time.Second)
					batches++
					return batch, test.end(func() { close(stopping) }, cancel)
				}}
				if err := s.Work(ctx, nil); !errors.Is(err, test.want) || batches != 1 {
					t.Errorf("%d batches, error %v; want 1, %v", batches, err, test.want)
				}
			})
		})
	}
}
