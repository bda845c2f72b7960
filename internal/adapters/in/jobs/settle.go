package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"
)

// settlePayment holds the arguments for [Config.SettlePayment].
type settlePayment struct {
	ID int64 `json:"id"`
}

func (settlePayment) Kind() string { return "settle_payment" }

func (a settlePayment) id() int64 { return a.ID }

// settleRefund holds the arguments for [Config.SettleRefund].
type settleRefund struct {
	ID int64 `json:"id"`
}

func (settleRefund) Kind() string { return "settle_refund" }

func (a settleRefund) id() int64 { return a.ID }

// rowArgs are job arguments that name one row.
type rowArgs interface {
	river.JobArgs
	id() int64
}

// addSettle registers these jobs even if cards are off: any process may rescue the jobs
// of dead processes, and River discards unknown kinds. Only a process with cards works
// on their queue.
func addSettle(s *schedule, cfg Config) {
	river.AddWorker(s.workers, &settleWorker[settlePayment]{settle: cfg.SettlePayment})
	river.AddWorker(s.workers, &settleWorker[settleRefund]{settle: cfg.SettleRefund})
	if cfg.SettlePayment != nil {
		s.queues[settleQueue] = river.QueueConfig{MaxWorkers: settleWorkers}
	}
}

// settleWorker asks the card provider until the outcome is known.
type settleWorker[A rowArgs] struct {
	river.WorkerDefaults[A]
	settle func(ctx context.Context, id int64) error
}

// Work asks once.
func (w *settleWorker[A]) Work(ctx context.Context, job *river.Job[A]) error {
	return w.settle(ctx, job.Args.id())
}

// Timeout returns when a run is cancelled.
func (w *settleWorker[A]) Timeout(*river.Job[A]) time.Duration { return longTimeout }

// NextRetry doubles the wait from one second up to five minutes. The job has so many
// attempts that it never gives up: no outcome may stay unknown.
func (w *settleWorker[A]) NextRetry(job *river.Job[A]) time.Time {
	const longest = 5 * time.Minute
	wait := time.Second << min(job.Attempt-1, 9)
	return time.Now().Add(min(wait, longest))
}
