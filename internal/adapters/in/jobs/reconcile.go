package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"
)

// reconcile is the arguments of the job that runs [Config.Reconcile].
type reconcile struct{}

func (reconcile) Kind() string { return "reconcile" }

type reconcileWorker struct {
	river.WorkerDefaults[reconcile]
	run func(ctx context.Context) error
}

func addReconcile(s *schedule, run func(ctx context.Context) error, period time.Duration) {
	if run == nil {
		return
	}
	river.AddWorker(s.workers, &reconcileWorker{run: run})
	s.every(period, river.QueueDefault, reconcile{})
}

// Timeout returns when a run is cancelled.
func (w *reconcileWorker) Timeout(*river.Job[reconcile]) time.Duration { return longTimeout }

// Work reconciles once.
func (w *reconcileWorker) Work(ctx context.Context, _ *river.Job[reconcile]) error {
	return w.run(ctx)
}
