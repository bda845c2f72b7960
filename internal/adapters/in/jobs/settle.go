package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"
)

// settlePayment asks the provider what becomes of a card payment. The job is written
// beside the payment, in its transaction.
type settlePayment struct {
	ID int64 `json:"id"`
}

func (settlePayment) Kind() string { return "settle_payment" }

func (a settlePayment) id() int64 { return a.ID }

// settleRefund asks the provider to give money of a card payment back.
type settleRefund struct {
	ID int64 `json:"id"`
}

func (settleRefund) Kind() string { return "settle_refund" }

func (a settleRefund) id() int64 { return a.ID }

// question is the arguments of a job about one row.
type question interface {
	river.JobArgs
	id() int64
}

// settler asks until there is an answer.
type settler[A question] struct {
	river.WorkerDefaults[A]
	settle func(ctx context.Context, id int64, again bool) error
}

// Work asks once. A job that was given to another process counts as asked before.
func (s *settler[A]) Work(ctx context.Context, job *river.Job[A]) error {
	return s.settle(ctx, job.Args.id(), job.Attempt > 1)
}

// NextRetry asks again after 1, 2, 4 … seconds, and every five minutes in the end: an
// unknown outcome is asked for until it is known.
func (s *settler[A]) NextRetry(job *river.Job[A]) time.Time {
	const longest = 5 * time.Minute
	wait := time.Second << min(job.Attempt-1, 9)
	return time.Now().Add(min(wait, longest))
}
