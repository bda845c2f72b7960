package admission

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"example.com/orders/internal/core"
	"example.com/orders/kit/guard"
)

// maxUnanswered limits the COMMITs that were given up before their answer. At the
// limit, new transactions are refused, because their COMMITs would hang as well.
const maxUnanswered = 4

// Places are the places for the transactions on one pool.
//
// A transaction that writes has a writer place. A command outside the lanes first takes
// its principal's share and an ungrouped place; see [Places.Outside].
type Places struct {
	// Held marks the rows that others hold for long.
	Held HeldRows

	// writers leaves connections to reads: COMMITs can take long, and all do when a
	// synchronous standby is lost. ungrouped leaves writers to lanes, and waiters leaves
	// ungrouped places to commands that wait for no row.
	writers, ungrouped, waiters *semaphore.Weighted

	conns      int
	share      int
	shares     shares
	pace       atomic.Int64 // average duration of recent transactions in lanes
	unanswered atomic.Int64
}

// New returns places for a pool with conns connections and no lanes.
func New(conns int) *Places {
	p := &Places{conns: conns, writers: semaphore.NewWeighted(int64(maxWriters(conns)))}
	p.Reserve(0)
	return p
}

// Reserve keeps a writer place for each lane. It is called before any transaction
// starts.
func (p *Places) Reserve(lanes int) {
	ungrouped := maxUngrouped(maxWriters(p.conns), lanes)
	p.share = maxShare(ungrouped)
	p.ungrouped = semaphore.NewWeighted(int64(ungrouped))
	p.waiters = semaphore.NewWeighted(int64(p.share))
	p.shares = shares{size: int64(p.share)}
}

// maxWriters reserves a quarter of the connections for reads, and at least two if there
// are enough.
func maxWriters(conns int) int { return max(1, conns-max(2, conns/4)) }

// maxUngrouped reserves a writer place per lane for its group. It leaves at least two
// places outside the lanes if possible, because one may wait for a row.
func maxUngrouped(writers, lanes int) int { return min(writers, max(2, writers-lanes)) }

// maxShare reserves a quarter of the places, and at least one, for other principals,
// unless there is only one place.
func maxShare(places int) int { return max(1, places-max(1, places/4)) }

// MaxShare returns how many places a principal may have at once. Others always find one
// in a pool with at least four connections.
func (p *Places) MaxShare() int { return p.share }

// Unanswered returns the number of COMMITs that were given up and are unanswered.
func (p *Places) Unanswered() int { return int(p.unanswered.Load()) }

// Refused returns the error of new transactions while too many COMMITs are unanswered.
func (p *Places) Refused() error {
	if p.unanswered.Load() < int64(min(maxUnanswered, maxWriters(p.conns))) {
		return nil
	}
	return fmt.Errorf("%w: too many commits are in doubt", core.ErrUnavailable)
}

// Place is the right to write in one transaction.
type Place struct {
	// LockTimeout limits each wait for a row. If it is zero, the transaction waits as
	// long as its caller.
	LockTimeout time.Duration

	places   *Places
	releases []func()  // the shares and places that come before the writer place
	inLane   time.Time // since when, or zero
	kept     bool
}

// Job waits for the place of a job, which waits for rows as long as its caller.
func (p *Places) Job(ctx context.Context) (*Place, error) { return p.enter(ctx, &Place{}) }

// InLane waits for the place of a command or group in a lane. It has a lock timeout,
// because others wait for the lane.
func (p *Places) InLane(ctx context.Context) (*Place, error) {
	place, err := p.enter(ctx, &Place{})
	if err != nil {
		return nil, err
	}
	place.LockTimeout = p.lockTimeout()
	place.inLane = time.Now() // the wait for a place is no pace: it would raise the lock timeout
	return place, nil
}

// Outside waits for the place of a command outside the lanes. Commands that wait for
// rows could take all these places, so a share of one principal is the most that may
// wait for long. Beyond it, a command has the lock timeout of a lane. When it has
// reached that, it enters again with rowHeld: it waits without a connection until it
// may wait for the row.
//
// The principal is empty for a command that has its share; see [Places.Share].
func (p *Places) Outside(ctx context.Context, principal guard.Scope, rowHeld bool) (_ *Place, err error) {
	if err := p.Refused(); err != nil {
		return nil, err
	}
	place := &Place{}
	defer func() {
		if err != nil {
			place.release()
		}
	}()
	if principal != "" {
		release, err := p.Share(ctx, principal, false)
		if err != nil {
			return nil, err
		}
		place.releases = append(place.releases, release)
	}
	if rowHeld {
		if err := place.take(ctx, p.waiters, "a locked row"); err != nil {
			return nil, err
		}
	}
	if err := place.take(ctx, p.ungrouped, "other commands"); err != nil {
		return nil, err
	}
	if !rowHeld && !place.tryTake(p.waiters) {
		place.LockTimeout = p.lockTimeout()
	}
	return p.enter(ctx, place)
}

// enter waits for the writer place.
func (p *Places) enter(ctx context.Context, place *Place) (*Place, error) {
	if err := p.Refused(); err != nil {
		return nil, err
	}
	if err := p.writers.Acquire(ctx, 1); err != nil {
		return nil, gaveUp("other commands", err)
	}
	place.places = p
	return place, nil
}

// TryWrite returns a place for a transaction that is about to commit, or nil if none is
// free.
func (p *Places) TryWrite() *Place {
	if !p.writers.TryAcquire(1) {
		return nil
	}
	return &Place{places: p}
}

// Leave frees the place, unless a COMMIT keeps it.
func (l *Place) Leave() {
	if !l.kept {
		l.places.writers.Release(1)
	}
	l.release()
}

// Keep keeps the writer place of a COMMIT that is given up, until it is answered.
func (l *Place) Keep() (answered func()) {
	l.kept = true
	l.places.unanswered.Add(1)
	return func() {
		l.places.unanswered.Add(-1)
		l.places.writers.Release(1)
	}
}

// Committed notes how long a transaction in a lane has taken.
func (l *Place) Committed() {
	if l != nil && !l.inLane.IsZero() {
		l.places.RecordPace(time.Since(l.inLane))
	}
}

func (l *Place) take(ctx context.Context, from *semaphore.Weighted, waitedFor string) error {
	if err := from.Acquire(ctx, 1); err != nil {
		return gaveUp(waitedFor, err)
	}
	l.releases = append(l.releases, func() { from.Release(1) })
	return nil
}

func (l *Place) tryTake(from *semaphore.Weighted) bool {
	if !from.TryAcquire(1) {
		return false
	}
	l.releases = append(l.releases, func() { from.Release(1) })
	return true
}

func (l *Place) release() {
	for _, release := range l.releases {
		release()
	}
}

func gaveUp(waitedFor string, err error) error {
	return fmt.Errorf("%w: wait for %s: %w", core.ErrUnavailable, waitedFor, err)
}
