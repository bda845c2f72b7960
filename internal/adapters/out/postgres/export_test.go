package postgres

import (
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
