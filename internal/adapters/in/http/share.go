package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"

	"example.com/orders/internal/core"
	"example.com/orders/internal/idempotency"
)

// share is the part of the database that one principal may use at a time. The commands of
// a principal who sends many about one order wait for its row, and each of them would
// keep a connection from others meanwhile. So they wait for their share first, in a queue
// of the principal, without a connection.
//
// Reads have a share of their own, so that they do not wait behind commands.
type share struct{ *semaphore.Weighted }

// shareFor returns the share that the requests of a route need.
func (a *admission) shareFor(rt route) share {
	if rt.method == http.MethodGet {
		return share{a.principal.reads}
	}
	return share{a.principal.commands}
}

// wait waits until the principal uses less than its share. The caller releases one.
func (s share) wait(ctx context.Context) error {
	if err := s.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("%w: wait for other requests of the principal: %w", core.ErrUnavailable, err)
	}
	return nil
}

// sharedStore is the store of the guard for the requests of one principal.
type sharedStore struct {
	idempotency.LookupStore
	share share
}

// lookAfter is how long a command waits for its share before it is looked up, many times
// as long as commands take that wait for nothing.
const lookAfter = 100 * time.Millisecond

// Execute waits for the share; see [idempotency.Store]. If the principal keeps using all
// of it, a duplicate is recognised by a look-up: it neither needs the share, to be replayed
// or to wait for the first request, nor should it queue behind other commands.
func (s sharedStore) Execute(
	ctx context.Context, claim idempotency.Claim, run idempotency.Command,
) (idempotency.Record, bool, error) {
	if !s.share.TryAcquire(1) && !s.waitsShortly(ctx) {
		if rec, found, err := s.Lookup(ctx, claim.ID); found || err != nil {
			return rec, found, err
		}
		if err := s.share.wait(ctx); err != nil {
			return idempotency.Record{}, false, err
		}
	}
	defer s.share.Release(1)
	return s.LookupStore.Execute(ctx, claim, run)
}

// waitsShortly reports whether the share became free within lookAfter. The caller has it
// then.
func (s sharedStore) waitsShortly(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, lookAfter)
	defer cancel()
	return s.share.Acquire(ctx, 1) == nil
}
