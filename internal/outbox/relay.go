package outbox

import (
	"context"
	"crypto/rand"
	"errors"
	mathrand "math/rand/v2"
	"time"

	"github.com/rs/zerolog"
)

const (
	// batchSize bounds what is in memory, however much waits.
	batchSize = 500
	// leaseFor is how long a replica that died keeps the others waiting.
	leaseFor = 15 * time.Second
	// pollEvery is how late an event leaves when nobody says that there is one.
	pollEvery = 200 * time.Millisecond
	// maxPause bounds the wait between attempts while something does not work.
	maxPause = 5 * time.Second
	// markTimeout bounds the notes at the end, whatever became of the context.
	markTimeout = 5 * time.Second
)

// Store is where events wait until they have left. Each call commits by itself.
type Store interface {
	// Lease takes or renews the right to relay, and tells whether the holder has it.
	Lease(ctx context.Context, holder string, d time.Duration) (bool, error)
	// Release gives the right back.
	Release(ctx context.Context, holder string) error
	// Unpublished gives the lowest ids of what has not left; an aggregate's without a gap.
	Unpublished(ctx context.Context, limit int) ([]Event, error)
	// MarkPublished notes what the broker has acknowledged.
	MarkPublished(ctx context.Context, ids []int64) error
}

// Publisher sends events to the broker.
type Publisher interface {
	Publish(ctx context.Context, events []Event) (acked []int64, err error)
}

// Relay moves events from the outbox to the broker (R-DIST-OBX). Each event arrives at
// least once and in the order of its aggregate; the broker and the consumers drop what
// comes again, by its id.
//
// Every replica runs one, and a lease lets one work at a time. It need not be airtight: a
// relay that stalls in mid-batch and goes on after its lease sends a run of events that
// its successor sends too, both in order, and of two such copies the first arrivals are
// in order again.
type Relay struct {
	Store     Store
	Publisher Publisher
	// LeaseFor replaces the usual 15 s when it is not zero.
	LeaseFor time.Duration
	Log      zerolog.Logger

	holder     string
	leaseUntil time.Time
}

// Run relays until ctx ends.
func (r *Relay) Run(ctx context.Context) {
	r.holder = rand.Text()
	if r.LeaseFor == 0 {
		r.LeaseFor = leaseFor
	}
	defer r.release(ctx)
	for failures := 0; ctx.Err() == nil; {
		n, err := r.step(ctx)
		if err != nil {
			failures++
			r.complain(ctx, err, failures)
			rest(ctx, backOff(failures))
			continue
		}
		failures = 0
		if n < batchSize {
			rest(ctx, pollEvery)
		}
	}
}

func (r *Relay) complain(ctx context.Context, err error, failures int) {
	if ctx.Err() == nil { // or else it is the end and no failure
		r.Log.Warn().Err(err).Int("attempt", failures).Msg("events cannot leave")
	}
}

// step relays one batch and tells how many events it had. It publishes under its own
// lease only, and begins again with the first event that is not marked.
func (r *Relay) step(ctx context.Context) (int, error) {
	if mine, err := r.lease(ctx); err != nil || !mine {
		return 0, err
	}
	events, err := r.Store.Unpublished(ctx, batchSize)
	if err != nil || len(events) == 0 {
		return 0, err
	}
	leased, cancel := context.WithDeadline(ctx, r.leaseUntil)
	defer cancel()
	acked, err := r.Publisher.Publish(leased, events)
	return len(events), errors.Join(err, r.mark(ctx, acked))
}

// lease makes sure that at least half of the lease is left. Its end is counted from
// before the question, so it is never later than the one in the database.
func (r *Relay) lease(ctx context.Context) (bool, error) {
	asked := time.Now()
	if r.leaseUntil.Sub(asked) > r.LeaseFor/2 {
		return true, nil
	}
	mine, err := r.Store.Lease(ctx, r.holder, r.LeaseFor)
	if mine {
		r.leaseUntil = asked.Add(r.LeaseFor)
	}
	return mine, err
}

// mark notes what has left, also at the end of ctx: it saves sending it again.
func (r *Relay) mark(ctx context.Context, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), markTimeout)
	defer cancel()
	return r.Store.MarkPublished(ctx, ids)
}

// release lets another replica go on at once. If it fails, the lease ends by itself.
func (r *Relay) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), markTimeout)
	defer cancel()
	_ = r.Store.Release(ctx, r.holder)
}

// rest waits for d, or until ctx ends.
func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// backOff doubles from 100 ms, and is random, so that replicas do not come all at once.
func backOff(failures int) time.Duration {
	d := min(100*time.Millisecond<<min(failures-1, 10), maxPause)
	return d/2 + mathrand.N(d/2)
}
