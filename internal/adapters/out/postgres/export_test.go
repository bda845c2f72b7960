package postgres

import (
	"context"
	"sync"
	"time"

	"example.com/orders/internal/idempotency"
)

// Gather makes commands with a key wait until release is called, if all of so many lanes
// are free. They form groups then.
func (k *Keys) Gather(lanes int) (release func(), ok bool) {
	l := k.lanes
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.free < lanes {
		return nil, false
	}
	l.free = 0
	return sync.OnceFunc(func() {
		for range lanes {
			l.regathered()
		}
	}), true
}

// Waiting returns how many commands wait for their group.
func (k *Keys) Waiting() int { return k.lanes.waiting() }

// LockID returns the advisory lock of a key.
func LockID(id idempotency.ID) int64 { return lockID(id) }

// WaitLongForRows makes the groups that follow wait for rows as long as groups ever do.
func (k *Keys) WaitLongForRows() { k.pace.record(time.Hour) }

// ExecuteIn executes a statement on the connection of the transaction that a command runs in,
// which does not learn of it.
func ExecuteIn(ctx context.Context, sql string) error {
	_, err := ctx.Value(txKey{}).(*tx).conn.Exec(ctx, sql)
	return err
}

// ExpectReplays makes the groups that follow look their keys up first, as in a storm of retries.
func (k *Keys) ExpectReplays() { k.replays.average.Store(all) }
