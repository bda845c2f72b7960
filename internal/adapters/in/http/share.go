package httpapi

import (
	"context"
	"fmt"
	"net/http"

	"golang.org/x/sync/semaphore"

	"example.com/orders/internal/core"
)

// share is the part of the database that one principal may use at a time, with reads or
// with commands that need no key. The commands of a principal who sends many about one
// order wait for its row, and each of them would keep a connection from others meanwhile.
// So they wait for their share first, in a queue of the principal, without a connection.
// Commands with a key have another one, in the store of the guard.
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
