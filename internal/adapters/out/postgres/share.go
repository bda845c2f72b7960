package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"example.com/orders/internal/idempotency"
)

// alone runs a command in a transaction of its own. If it wants a row that is held for long,
// it waits without a place; see [DB.patiently].
func (k *Keys) alone(ctx context.Context, a attempt) (rec idempotency.Record, replayed bool, err error) {
	run := func(patient bool) (err error) {
		rec, replayed, err = k.runAlone(ctx, a, patient)
		return err
	}
	if !a.rowHeld {
		if err = run(false); !errors.Is(err, errRowHeld) {
			return rec, replayed, err
		}
		a.hadKey = true
	}
	err = k.db.patiently(ctx, run)
	return rec, replayed, err
}

// runAlone runs a command when there is a place for it. If there is none soon, a duplicate
// is recognised by a look-up: it neither needs a place, to be replayed or to wait for the
// first request, nor should it queue behind other commands.
func (k *Keys) runAlone(ctx context.Context, a attempt, patient bool) (idempotency.Record, bool, error) {
	p, ok := k.placeSoon(ctx, a.claim.Scope)
	if !ok {
		rec, found, err := k.lookup(ctx, a.claim.ID, nil)
		if a.hadKey && errors.Is(err, idempotency.ErrInProgress) {
			err = nil // by a duplicate that tries it; this is the first request
		}
		if found || err != nil {
			return rec, found, err
		}
		if p, err = k.place(ctx, a.claim.Scope); err != nil {
			return idempotency.Record{}, false, err
		}
	}
	return k.executeAt(ctx, p, a, patient)
}

// executeAt is executeAlone at a place, which is free afterwards.
func (k *Keys) executeAt(ctx context.Context, p place, a attempt, patient bool) (idempotency.Record, bool, error) {
	defer p.release()
	return k.executeAlone(ctx, a, patient)
}

// placeToRunAlone takes a place at once, unless a look-up by a group of one promises more.
func (k *Keys) placeToRunAlone(scope idempotency.Scope) (place, bool) {
	if k.replays.likely() {
		return place{}, false
	}
	return k.tryPlace(scope)
}

// shares bound the commands of each principal that run alone. The commands of a principal
// who sends many about one order wait for its row, and each of them would keep a
// connection from others meanwhile. So they wait for their share first, in a queue of the
// principal, without a connection.
type shares struct {
	size int64

	mu      sync.Mutex
	present map[idempotency.Scope]*share
}

// share is that of a principal with commands.
type share struct {
	*semaphore.Weighted
	users int
}

// of returns the share of a principal. The caller calls done when it needs it no more.
func (s *shares) of(scope idempotency.Scope) *share {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.present == nil {
		s.present = map[idempotency.Scope]*share{}
	}
	sh := s.present[scope]
	if sh == nil {
		sh = &share{Weighted: semaphore.NewWeighted(s.size)}
		s.present[scope] = sh
	}
	sh.users++
	return sh
}

// done forgets a principal without commands.
func (s *shares) done(scope idempotency.Scope) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sh := s.present[scope]
	sh.users--
	if sh.users == 0 {
		delete(s.present, scope)
	}
}

// lookAfter is how long a command waits for its share before it is looked up, many times
// as long as commands take that wait for nothing.
const lookAfter = 100 * time.Millisecond

// place is the right of a command to run in a transaction of its own: within the share of
// its principal, and among the transactions that belong to no group.
type place struct {
	keys  *Keys
	scope idempotency.Scope
	share *share
}

// place waits for a place.
func (k *Keys) place(ctx context.Context, scope idempotency.Scope) (place, error) {
	p := place{k, scope, k.shares.of(scope)}
	if err := p.share.Acquire(ctx, 1); err != nil {
		k.shares.done(scope)
		return place{}, unavailable(fmt.Errorf("wait for other requests of the principal: %w", err))
	}
	if err := k.db.alone.Acquire(ctx, 1); err != nil {
		p.share.Release(1)
		k.shares.done(scope)
		return place{}, unavailable(fmt.Errorf("wait for other commands: %w", err))
	}
	return p, nil
}

// placeSoon waits for a place no longer than lookAfter, and reports whether there is one.
func (k *Keys) placeSoon(ctx context.Context, scope idempotency.Scope) (place, bool) {
	ctx, cancel := context.WithTimeout(ctx, lookAfter)
	defer cancel()
	p, err := k.place(ctx, scope)
	return p, err == nil
}

// tryPlace takes a place if it need not wait.
func (k *Keys) tryPlace(scope idempotency.Scope) (place, bool) {
	p := place{k, scope, k.shares.of(scope)}
	if p.share.TryAcquire(1) {
		if k.db.alone.TryAcquire(1) {
			return p, true
		}
		p.share.Release(1)
	}
	k.shares.done(scope)
	return place{}, false
}

func (p place) release() {
	p.keys.db.alone.Release(1)
	p.share.Release(1)
	p.keys.shares.done(p.scope)
}
