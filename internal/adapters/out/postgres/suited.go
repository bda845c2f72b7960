package postgres

import (
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"example.com/orders/internal/idempotency"
)

// keysInFlight are the keys that this process is working on.
type keysInFlight struct{ keys sync.Map }

// enter adds a key and reports whether it was absent.
func (f *keysInFlight) enter(id idempotency.ID) bool {
	_, present := f.keys.LoadOrStore(id, true)
	return !present
}

func (f *keysInFlight) leave(id idempotency.ID) { f.keys.Delete(id) }

func (f *keysInFlight) has(id idempotency.ID) bool {
	_, present := f.keys.Load(id)
	return present
}

// heldRows are rows for which a command waits alone, because a group waited in vain.
// Commands that want them would hold up their groups, too, so they run alone.
type heldRows struct {
	mu      sync.Mutex
	waiters map[string]int
}

func (h *heldRows) add(rows []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waiters == nil {
		h.waiters = map[string]int{}
	}
	for _, row := range rows {
		h.waiters[row]++
	}
}

func (h *heldRows) remove(rows []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, row := range rows {
		h.waiters[row]--
		if h.waiters[row] == 0 {
			delete(h.waiters, row)
		}
	}
}

// any reports whether a command waits alone for one of the rows that w names.
func (h *heldRows) any(w want) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.waiters) > 0 && slices.ContainsFunc(w.rows(), func(row string) bool { return h.waiters[row] > 0 })
}

// unsuitedFor is how long commands of an operation run alone after one that could not be
// joined with others from its first load on.
const unsuitedFor = time.Minute

// unsuited are operations, with the time until which their commands run alone.
type unsuited struct{ until sync.Map }

func (u *unsuited) add(operation string) { u.until.Store(operation, time.Now().Add(unsuitedFor)) }

func (u *unsuited) has(operation string) bool {
	until, found := u.until.Load(operation)
	return found && time.Now().Before(until.(time.Time)) //nolint:forcetypeassert // add has stored it
}

const (
	// maxFailures is how many groups may fail more than succeed before commands run alone.
	maxFailures = 8
	// openFor is how long they run alone then.
	openFor = time.Second
)

// breaker lets commands run alone for a while when most groups fail: a group that fails
// has cost its commands more than they would have cost alone.
type breaker struct {
	mu       sync.Mutex
	failures int
	until    time.Time
}

func (b *breaker) record(failed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !failed {
		b.failures = max(0, b.failures-1)
		return
	}
	b.failures++
	if b.failures > maxFailures {
		b.failures, b.until = 0, time.Now().Add(openFor)
	}
}

// isOpen reports whether commands run alone.
func (b *breaker) isOpen() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return time.Now().Before(b.until)
}

// replays is the part of the keys that turned out to be stored, among those that this
// process did not remember. While it is large, a storm of retries arrives.
type replays struct{ average atomic.Int64 }

// all is an average of nothing but replays.
const all = 1 << 16

// record adds a key to the average. Two keys at a time may count as one.
func (r *replays) record(stored bool) {
	before, now := r.average.Load(), int64(0)
	if stored {
		now = all
	}
	r.average.Store(before + (now-before)/16)
}

// likely reports whether the next key is probably stored.
func (r *replays) likely() bool { return r.average.Load() > all/2 }

const (
	// minLockTimeout and maxLockTimeout bound how long a group waits for a row.
	minLockTimeout = 50 * time.Millisecond
	maxLockTimeout = time.Second
)

// pace is how long the last groups took, on average.
type pace struct{ average atomic.Int64 }

// record adds a group to the average. Two groups at a time may count as one.
func (p *pace) record(took time.Duration) {
	before := p.average.Load()
	p.average.Store(before + (int64(took)-before)/8)
}

// lockTimeout returns how long a group waits for a row, as PostgreSQL takes it: many times
// as long as another group has a row. Whoever has it longer must not delay a whole group.
func (p *pace) lockTimeout() string {
	timeout := min(max(8*time.Duration(p.average.Load()), minLockTimeout), maxLockTimeout)
	return strconv.FormatInt(timeout.Milliseconds(), 10) + "ms"
}
