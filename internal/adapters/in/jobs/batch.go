package jobs

import (
	"cmp"
	"context"
	"time"

	"github.com/riverqueue/river"
)

const (
	// batchSize is how many rows one call of a [BatchJob] handles.
	batchSize = 500
	// maxRunTime is when a run starts no further batch. The next run continues.
	maxRunTime = 50 * time.Second
	// pauseFactor is how many times as long as the last batch took a run pauses after
	// it. However much there is to do, a run works for a tenth of its time.
	pauseFactor = 9
)

// BatchJob is a job that handles rows which are due, batch by batch.
type BatchJob struct {
	// Run handles at most limit rows and returns how many it found.
	Run func(ctx context.Context, limit int) (int, error)
	// Every replaces the default period of the job.
	Every time.Duration
}

// The arguments of the batch jobs have nothing but a kind. River stores the kind, so a
// changed name would leave jobs of an earlier version without a worker.
type (
	releaseExpiredReservations struct{}
	cleanIdempotencyRecords    struct{}
	cleanOutbox                struct{}
	cleanProcessedMessages     struct{}
)

func (releaseExpiredReservations) Kind() string { return "release_expired_reservations" }
func (cleanIdempotencyRecords) Kind() string    { return "clean_idempotency_records" }
func (cleanOutbox) Kind() string                { return "clean_outbox" }
func (cleanProcessedMessages) Kind() string     { return "clean_processed_messages" }

// addBatchJob adds a job to the schedule, unless it has nothing to run.
func addBatchJob[A river.JobArgs](s *schedule, args A, job BatchJob, period time.Duration) {
	if job.Run == nil {
		return
	}
	river.AddWorker(s.workers, &batchWorker[A]{run: job.Run, stopping: s.stopping})
	s.every(cmp.Or(job.Every, period), args)
}

// batchWorker runs a [BatchJob].
type batchWorker[A river.JobArgs] struct {
	river.WorkerDefaults[A]
	run      func(ctx context.Context, limit int) (int, error)
	stopping <-chan struct{}
}

// Work handles batches until one is not full, which means that nothing more is due, or
// until the time of the run is over. When the process stops, it finishes its batch.
func (w *batchWorker[A]) Work(ctx context.Context, _ *river.Job[A]) error {
	for end := time.Now().Add(maxRunTime); time.Now().Before(end); {
		start := time.Now()
		n, err := w.run(ctx, batchSize)
		if err != nil || n < batchSize {
			return err
		}
		select {
		case <-time.After(pauseFactor * time.Since(start)):
		case <-w.stopping:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
