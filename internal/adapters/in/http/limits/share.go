package limits

import (
	"context"
	"fmt"

	"example.com/orders/internal/core"
)

// Share waits until the principal uses less than its share of the database, and returns
// a function that ends the use. Reads and commands have separate shares, so that reads
// do not wait behind commands.
//
// One principal's commands on one order wait for its row, and each would keep a
// connection from others meanwhile. They wait for their share first, without a
// connection. The store does the same for guarded commands.
func (a *Admission) Share(ctx context.Context, isRead bool) (release func(), err error) {
	share := a.principal.commands
	if isRead {
		share = a.principal.reads
	}
	if err := share.Acquire(ctx, 1); err != nil {
		return nil, fmt.Errorf("%w: wait for other requests of the principal: %w", core.ErrUnavailable, err)
	}
	return func() { share.Release(1) }, nil
}
