package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"
)

const (
	// batch is how many orders or records one transaction or statement looks at.
	batch = 500
	// sweepFor is how long a sweep takes up new batches; what is left is for the next.
	sweepFor = 50 * time.Second
	// rests is how many times as long as at a batch a sweep rests after it: however much
	// there is to do, traffic hardly notices.
	rests = 9
)

// releaseReservations frees the stock of holds that have lapsed.
type releaseReservations struct{}

func (releaseReservations) Kind() string { return "release_expired_reservations" }

// cleanKeys removes idempotency records that have expired.
type cleanKeys struct{}

func (cleanKeys) Kind() string { return "clean_idempotency_records" }

// cleanOutbox removes events that left long ago.
type cleanOutbox struct{}

func (cleanOutbox) Kind() string { return "clean_outbox" }

// cleanMessages removes the notes of messages that nobody sends again.
type cleanMessages struct{}

func (cleanMessages) Kind() string { return "clean_processed_messages" }

// sweeper works through what is due, batch by batch, until there is no more or its time
// is over.
type sweeper[A river.JobArgs] struct {
	river.WorkerDefaults[A]
	sweep    func(ctx context.Context, limit int) (int, error)
	stopping <-chan struct{}
}

// Work runs one sweep.
func (s *sweeper[A]) Work(ctx context.Context, _ *river.Job[A]) error {
	for end := time.Now().Add(sweepFor); time.Now().Before(end); {
		start := time.Now()
		n, err := s.sweep(ctx, batch)
		if err != nil || n < batch {
			return err
		}
		select {
		case <-time.After(rests * time.Since(start)):
		case <-s.stopping:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
