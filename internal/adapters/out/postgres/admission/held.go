package admission

import (
	"slices"
	"sync"
	"time"
)

// HeldRows marks rows for which a command waits outside the lanes, after its lock
// timeout. Other commands for these rows would delay their lanes, so they also leave
// them. They mark nothing: a row that is only in demand would stay marked for ever.
type HeldRows struct {
	mu      sync.Mutex
	waiters map[string]int
}

// Add marks rows for one command.
func (h *HeldRows) Add(rows []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waiters == nil {
		h.waiters = map[string]int{}
	}
	for _, row := range rows {
		h.waiters[row]++
	}
}

// Remove removes the marks of one command.
func (h *HeldRows) Remove(rows []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, row := range rows {
		h.waiters[row]--
		if h.waiters[row] == 0 {
			delete(h.waiters, row)
		}
	}
}

// Any reports whether one of the rows is marked.
func (h *HeldRows) Any(rows []string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.waiters) > 0 && slices.ContainsFunc(rows, func(row string) bool { return h.waiters[row] > 0 })
}

// Empty reports whether no row is marked.
func (h *HeldRows) Empty() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.waiters) == 0
}

// minLockTimeout and MaxLockTimeout limit row waits in lanes.
const (
	minLockTimeout = 50 * time.Millisecond
	MaxLockTimeout = time.Second
)

// RecordPace adds the duration of a transaction in a lane to the average. A concurrent
// one may be lost.
func (p *Places) RecordPace(took time.Duration) {
	before := p.pace.Load()
	p.pace.Store(before + (int64(took)-before)/8)
}

// lockTimeout returns several times the average duration of a transaction in a lane. A
// row held longer must not delay a whole group. While one is, waits are likely to end
// in vain, so the timeout is short.
func (p *Places) lockTimeout() time.Duration {
	if !p.Held.Empty() {
		return minLockTimeout
	}
	return min(max(8*time.Duration(p.pace.Load()), minLockTimeout), MaxLockTimeout)
}
