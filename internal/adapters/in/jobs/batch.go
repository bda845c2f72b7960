package jobs

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/riverqueue/river"
)

// batchSize is how many rows one call of a [BatchJob] handles.
const batchSize = 500

// BatchJob is a job that handles rows which are due, batch by batch.
type BatchJob struct {
	// Run handles at most limit rows and returns how many it found. It finds all that it
	// was asked for also when some of them fail, so that the run goes on behind them.
	Run func(ctx context.Context, limit int) (int, error)
	// Removes reports that Run deletes or changes the rows that it finds. Each run that has
	// done so writes one line with their number.
	Removes bool
	// Every replaces the default period of the job.
	Every time.Duration
}

// InOrder returns a [BatchJob.Run] that goes through rows in their order. A call
// continues after the last row of the call before, and begins again when that found no
// more. So rows that fail keep nobody from the rows behind them, however many they are
// and however short a run is.
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

// The arguments of the batch jobs have nothing but a kind. River stores the kind, so a
// changed name would leave jobs of an earlier version without a worker.
type (
	releaseExpiredReservations struct{}
	restoreIntents             struct{}
	cleanIdempotencyRecords    struct{}
	cleanOutbox                struct{}
	cleanProcessedMessages     struct{}
	reconcile                  struct{}
)

func (releaseExpiredReservations) Kind() string { return "release_expired_reservations" }
func (restoreIntents) Kind() string             { return "restore_intents" }
func (cleanIdempotencyRecords) Kind() string    { return "clean_idempotency_records" }
func (cleanOutbox) Kind() string                { return "clean_outbox" }
func (cleanProcessedMessages) Kind() string     { return "clean_processed_messages" }
func (reconcile) Kind() string                  { return "reconcile" }

// Kinds are the kinds of all jobs.
var Kinds = []string{
	releaseExpiredReservations{}.Kind(),
	restoreIntents{}.Kind(),
	cleanIdempotencyRecords{}.Kind(),
	cleanOutbox{}.Kind(),
	cleanProcessedMessages{}.Kind(),
	reconcile{}.Kind(),
	settlePayment{}.Kind(),
	settleRefund{}.Kind(),
}

// pace is how a batch job is run.
type pace struct {
	queue  string
	period time.Duration
	// maxRun is when a run starts no further batch, and timeout when it is cancelled. The
	// next run continues.
	maxRun, timeout time.Duration
	// pauseFactor is how many times as long as the last batch took a run pauses after it.
	pauseFactor int
}

// prompt is the pace of a job that somebody waits for.
func prompt(queue string, period time.Duration) pace {
	return pace{queue: queue, period: period, maxRun: 10 * time.Second, timeout: runTimeout}
}

// gentle is the pace of clean-up and of reconciliation. However much there is to do, it
// works for a tenth of its time.
func gentle(period time.Duration) pace {
	return pace{queue: river.QueueDefault, period: period, maxRun: 50 * time.Second, timeout: longTimeout, pauseFactor: 9}
}

// addBatchJob adds a job to the schedule, unless it has nothing to run.
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

// Work handles batches until one is not full, which means that nothing more is due, or
// until the time of the run is over. It returns the errors of all batches. When the
// process stops, it finishes its batch.
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
