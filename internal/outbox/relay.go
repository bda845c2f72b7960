// Package outbox publishes the events that transactions have written to the outbox.
//
// A use case writes its event in the transaction of the change, so an event exists
// exactly when the change does (R-DIST-OBX). The [Relay] reads committed events and
// passes them to the broker. It knows two ports, [Store] and [Publisher], and neither
// the database nor the broker behind them.
package outbox

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	mathrand "math/rand/v2"
	"time"

	"github.com/rs/zerolog"

	"example.com/orders/internal/observe/panics"
)

const (
	// batchSize bounds the events in memory at any backlog.
	batchSize = 500
	// leaseTTL is how long other replicas wait after the leaseholder died.
	leaseTTL = 15 * time.Second
	// pollInterval is the maximum publishing delay with an empty outbox.
	pollInterval = 200 * time.Millisecond
	// minBackoff and maxBackoff bound the wait after a failure.
	minBackoff = 100 * time.Millisecond
	maxBackoff = 5 * time.Second
	// markTimeout bounds the statements that run after the relay's context ended.
	markTimeout = 5 * time.Second
)

// Store is the outbox. Each call commits by itself, so no transaction is open while the
// relay waits for the broker.
type Store interface {
	// Lease acquires or extends the right to relay, and reports whether holder has it.
	Lease(ctx context.Context, holder string, d time.Duration) (bool, error)
	// Release ends the lease of holder, unless a different holder has it.
	Release(ctx context.Context, holder string) error
	// Unpublished returns up to limit events not marked as published, the first ones
	// first. An aggregate's events are in the order they were written, with no gap. It
	// returns no event that a failover could still undo, as far as the database's
	// replication promises.
	Unpublished(ctx context.Context, limit int) ([]Event, error)
	// MarkPublished marks events acknowledged by the broker.
	MarkPublished(ctx context.Context, ids []string) error
}

// Publisher sends events to the broker.
type Publisher interface {
	// Publish sends events, those of one aggregate in order, and returns the ids
	// acknowledged by the broker. It may return ids and an error; the other events may
	// have arrived or not.
	Publish(ctx context.Context, events []Event) (acked []string, err error)
}

// Relay is the background worker that publishes the outbox. Every replica runs one.
//
// It promises two things:
//
//   - At least once. The relay marks an event as published after the broker has
//     acknowledged it. If the process dies in between, the next relay publishes the
//     event again under the same id. The broker drops that duplicate while it remembers
//     the id; later the consumers have to. The other order, marking first, would lose
//     the event instead.
//   - In order within an aggregate. [Store] returns the events of an aggregate in
//     order, [Publisher] keeps that order, and after a failure the relay reads the
//     outbox again from the first event that is not marked. Events of different
//     aggregates have no order.
//
// A lease lets one relay publish at a time, because several would all send the same
// events. The promises do not depend on it. A relay that stalls during a batch and
// continues after its lease expired sends events that the successor also sends. Each of
// them sends those events in order, so the first copies arrive in order as well.
//
// The relay survives a failure: it logs it, backs off and retries, and the events wait
// in the outbox.
type Relay struct {
	Store     Store
	Publisher Publisher
	// LeaseTTL defaults to 15 s.
	LeaseTTL time.Duration
	Log      zerolog.Logger
	// Published receives the number of acknowledged events, and Failed is called after
	// a failed attempt to publish; nil disables them.
	Published func(events int)
	Failed    func()

	holder     string // identifies this relay in the lease
	leaseUntil time.Time
}

// Run publishes events until ctx ends. Calls must not overlap.
func (r *Relay) Run(ctx context.Context) {
	r.holder = rand.Text()
	r.LeaseTTL = cmp.Or(r.LeaseTTL, leaseTTL)
	defer r.release(ctx)
	for failures := 0; ctx.Err() == nil; {
		n, err := r.relayBatch(ctx)
		if err != nil {
			failures++
			r.logFailure(ctx, err, failures)
			sleep(ctx, backoff(failures))
			continue
		}
		failures = 0
		if n < batchSize { // the outbox is empty, or a second relay has the lease
			sleep(ctx, pollInterval)
		}
	}
}

// relayBatch publishes one batch and returns its size. It publishes only while its
// lease lasts. A panic is an ordinary failure.
func (r *Relay) relayBatch(ctx context.Context) (n int, err error) {
	defer panics.Catch(&err)
	bounded, stop := context.WithTimeout(ctx, r.LeaseTTL) // a standby can be unreachable for long
	defer stop()
	if held, err := r.lease(bounded); err != nil || !held {
		return 0, err
	}
	events, err := r.Store.Unpublished(bounded, batchSize)
	if err != nil || len(events) == 0 {
		return 0, err
	}
	leased, cancel := context.WithDeadline(ctx, r.leaseUntil)
	defer cancel()
	acked, err := r.Publisher.Publish(leased, events)
	return len(events), errors.Join(err, r.mark(ctx, acked))
}

// lease reports whether this relay may publish, and extends a half-expired lease. The
// local deadline counts from before the call, so it is never later than the database's.
func (r *Relay) lease(ctx context.Context) (bool, error) {
	asked := time.Now()
	if r.leaseUntil.Sub(asked) > r.LeaseTTL/2 {
		return true, nil
	}
	held, err := r.Store.Lease(ctx, r.holder, r.LeaseTTL)
	if held {
		r.leaseUntil = asked.Add(r.LeaseTTL)
	}
	return held, err
}

// mark marks acknowledged events, even after ctx ended, because every lost mark means a
// duplicate.
func (r *Relay) mark(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	if r.Published != nil {
		r.Published(len(ids))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), markTimeout)
	defer cancel()
	return r.Store.MarkPublished(ctx, ids)
}

// release lets the next replica continue at once. If it fails, the lease expires.
func (r *Relay) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), markTimeout)
	defer cancel()
	_ = r.Store.Release(ctx, r.holder)
}

func (r *Relay) logFailure(ctx context.Context, err error, attempt int) {
	if ctx.Err() != nil {
		return // shutting down, which made the call fail
	}
	if r.Failed != nil {
		r.Failed()
	}
	r.Log.Warn().Err(err).Int("attempt", attempt).Msg("outbox publish failed")
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// backoff doubles with each failure, with jitter so that replicas do not retry in step.
func backoff(failures int) time.Duration {
	d := min(minBackoff<<min(failures-1, 10), maxBackoff)
	return d/2 + mathrand.N(d/2)
}

// External is the [Publisher] of an outbox that a separate program publishes, such as
// Debezium from the WAL. It acknowledges each event, so that the relay marks it as
// published and clean-up deletes it in time.
type External struct{}

// Publish implements [Publisher].
func (External) Publish(_ context.Context, events []Event) (acked []string, err error) {
	for _, e := range events {
		acked = append(acked, e.ID)
	}
	return acked, nil
}
