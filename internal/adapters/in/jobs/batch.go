package jobs

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/riverqueue/river"
)

// batchSize is the number of rows per [BatchJob] call.
const batchSize = 500

// BatchJob is a job that handles due rows in batches.
type BatchJob struct {
	// Run handles up to limit rows and returns how many it found. A failed row still
	// counts, so that the run continues behind it.
	Run func(ctx context.Context, limit int) (int, error)
	// Removes reports that Run deletes or changes the rows it finds. Each such run logs
	// their number.
	Removes bool
	// Every overrides the job's default period.
	Every time.Duration
}

// InOrder returns a [BatchJob.Run] that pages through rows. A call continues after the
// last row in the previous call, and starts over when that found no more. So failing
// rows never block the rows behind them, even if they are many and runs are short.
func InOrder[C any](
	page func(ctx context.Context, after C, limit int) (last C, found int, err error),
) func(ctx context.Context, limit int) (int, error) {
	var running sync.Mutex
	var after, beginning C
	return func(ctx context.Context, limit int) (int, error) {
		running.Lock()
		defer running.Unlock()
		last, found, err := page(ctx, after, limit)
		after = last
		if found < limit && ctx.Err() == nil {
			after = beginning
		}
		return found, err
	}
}

// Batch job arguments have only a kind. River stores it, so a renamed kind would orphan
// old jobs.
type (
	releaseExpiredReservations struct{}
	restoreIntents             struct{}
	cleanIdempotencyRecords    struct{}
	cleanOutbox                struct{}
	cleanProcessedMessages     struct{}
	cleanWebhookDeliveries     struct{}
	reconcile                  struct{}
)

func (releaseExpiredReservations) Kind() string { return "release_expired_reservations" }
func (restoreIntents) Kind() string             { return "restore_intents" }
func (cleanIdempotencyRecords) Kind() string    { return "clean_idempotency_records" }
func (cleanOutbox) Kind() string                { return "clean_outbox" }
func (cleanProcessedMessages) Kind() string     { return "clean_processed_messages" }
func (cleanWebhookDeliveries) Kind() string     { return "clean_webhook_deliveries" }
func (reconcile) Kind() string                  { return "reconcile" }

// Kinds lists all job kinds.
var Kinds = []string{
	releaseExpiredReservations{}.Kind(),
	restoreIntents{}.Kind(),
	cleanIdempotencyRecords{}.Kind(),
	cleanOutbox{}.Kind(),
	cleanProcessedMessages{}.Kind(),
	cleanWebhookDeliveries{}.Kind(),
	reconcile{}.Kind(),
	settlePayment{}.Kind(),
	settleRefund{}.Kind(),
}

// pace controls how a batch job runs.
type pace struct {
	queue  string
	period time.Duration
	// After maxRun a run starts no further batch, and after timeout it is cancelled.
	// The next run continues.
	maxRun, timeout time.Duration
	// pauseFactor is the pause after a batch, in multiples of the batch duration.
	pauseFactor int
}

// prompt is the pace for jobs that somebody waits for.
func prompt(queue string, period time.Duration) pace {
	return pace{queue: queue, period: period, maxRun: 10 * time.Second, timeout: runTimeout}
}

// gentle is the pace for clean-up and reconciliation, which work a tenth of the time at
// any backlog.
func gentle(period time.Duration) pace {
	return pace{
		queue: river.QueueDefault, period: period, maxRun: 50 * time.Second, timeout: longTimeout, pauseFactor: 9,
	}
}

// addBatchJob schedules a job that has a function.
func addBatchJob[A river.JobArgs](s *schedule, args A, job BatchJob, p pace) {
	if job.Run == nil {
		return
	}
	worker := &batchWorker[A]{pace: p, run: job.Run, stopping: s.stopping}
	if job.Removes {
		worker.removed = func(rows int) { s.removed(args.Kind(), rows) }
		worker.removed(0)
	}
	river.AddWorker(s.workers, worker)
	s.every(cmp.Or(job.Every, p.period), p.queue, args)
}

// batchWorker runs a [BatchJob].
type batchWorker[A river.JobArgs] struct {
	river.WorkerDefaults[A]
	pace

	run      func(ctx context.Context, limit int) (int, error)
	stopping <-chan struct{}
	removed  func(rows int) // nil unless the job removes rows
}

// Timeout returns when a run is cancelled.
func (w *batchWorker[A]) Timeout(*river.Job[A]) time.Duration { return w.timeout }

// Work handles batches until one is not full or the run's time is over. It returns all
// errors. On shutdown it completes the current batch.
func (w *batchWorker[A]) Work(ctx context.Context, _ *river.Job[A]) error {
	var failed error
	removed := 0
	if w.removed != nil {
		defer func() { w.removed(removed) }()
	}
	for end := time.Now().Add(w.maxRun); w.goesOn(ctx, end); {
		start := time.Now()
		n, err := w.run(ctx, batchSize)
		failed = errors.Join(failed, err)
		if err == nil {
			removed += n
		}
		if n < batchSize {
			return failed
		}
		w.pause(ctx, min(time.Duration(w.pauseFactor)*time.Since(start), time.Until(end)))
	}
	return errors.Join(failed, ctx.Err())
}

func (w *batchWorker[A]) goesOn(ctx context.Context, end time.Time) bool {
	select {
	case <-w.stopping:
		return false
	default:
		return ctx.Err() == nil && time.Now().Before(end)
	}
}

func (w *batchWorker[A]) pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-w.stopping:
	case <-ctx.Done():
	}
}
