package records

import (
	"sync"
	"time"

	"github.com/maypok86/otter/v2"

	"example.com/orders/kit/guard"
)

// recentBytes limits the memory for recent records.
const recentBytes = 64 << 20

// recordOverhead is a record's approximate size without its texts.
const recordOverhead = 400

// trustFor is how long the cache answers after it last verified the server.
const trustFor = 100 * time.Millisecond

// Recent caches records that this process has seen committed: it received the answer to
// COMMIT, or it read them. Records never change, so retry storms need not reach the
// database.
//
// A database can lose committed data: a lagging standby is promoted, or a backup is
// restored. The server process is then another one, with another start time. So the
// cache keeps records for one server process. It answers only within trustFor after a
// statement on that server, and it is emptied when a connection breaks.
type Recent struct {
	cache *otter.Cache[guard.ID, recentRecord]

	mu sync.Mutex
	// generation changes when all records are forgotten. A record with an older
	// generation, whose transaction began earlier, does not count.
	generation uint64
	// server is the server's start time, and seen when it was last verified.
	server, seen time.Time
}

type recentRecord struct {
	guard.Record
	// remaining is the response's remaining replay time when it was cached, by the
	// database clock; a duration is the same on every clock. After that, the database
	// decides.
	remaining  time.Duration
	generation uint64
}

// NewRecent returns an empty cache.
func NewRecent() *Recent {
	return &Recent{cache: otter.Must(&otter.Options[guard.ID, recentRecord]{
		MaximumWeight: recentBytes,
		Weigher: func(id guard.ID, r recentRecord) uint32 {
			return uint32(len(id.Scope) + len(id.Key) + len(r.Body) + recordOverhead)
		},
		ExpiryCalculator: otter.ExpiryWritingFunc(func(e otter.Entry[guard.ID, recentRecord]) time.Duration {
			return e.Value.remaining
		}),
	})}
}

// Get returns a key's record if it is cached and the server was verified recently.
// Otherwise it returns the generation for a later Put.
func (r *Recent) Get(id guard.ID) (rec guard.Record, known bool, generation uint64) {
	found, known := r.cache.GetIfPresent(id)
	r.mu.Lock()
	defer r.mu.Unlock()
	if known && found.generation == r.generation && time.Since(r.seen) < trustFor {
		return found.Record, true, r.generation
	}
	return guard.Record{}, false, r.generation
}

// Put caches a record for its remaining time.
func (r *Recent) Put(rec guard.Record, remaining time.Duration, generation uint64) {
	if remaining > 0 {
		r.cache.Set(rec.ID, recentRecord{rec, remaining, generation})
	}
}

// Verify notes which server executed a statement sent at the given time. It forgets all
// records from another server.
func (r *Recent) Verify(server, sent time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !server.Equal(r.server) {
		r.generation++
		r.server, r.seen = server, sent
	}
	if sent.After(r.seen) {
		r.seen = sent
	}
}

// Forget forgets all records.
func (r *Recent) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.generation++
}

// Close stops the cache's goroutines.
func (r *Recent) Close() { r.cache.StopAllGoroutines() }
