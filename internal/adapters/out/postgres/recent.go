package postgres

import (
	"cmp"
	"sync"
	"time"

	"github.com/maypok86/otter/v2"

	"example.com/orders/internal/idempotency"
)

// recentBytes bounds the memory for recent records unless the configuration does.
const recentBytes = 64 << 20

// recordOverhead is roughly what a record takes beside its texts.
const recordOverhead = 400

// trustFor is how long the memory answers after the database was last seen to be the same.
const trustFor = 100 * time.Millisecond

// recentRecords remembers records that this process has seen committed: it got the answer
// to the COMMIT, or it has read them. Records never change, so that a storm of retries
// need not reach the database.
//
// A database can lose what it has committed: a standby that lags becomes the primary, or
// a backup is restored. The server process is then another one, started at another time.
// So the memory keeps records of one server process. It answers only within trustFor of a
// statement that this server has executed, and it is empty after a connection broke.
type recentRecords struct {
	cache *otter.Cache[idempotency.ID, recentRecord]

	mu sync.Mutex
	// generation changes when all records are forgotten. A record of an earlier one, whose
	// transaction began before, does not count.
	generation uint64
	// server is when the server was started, and seen when it was last asked.
	server, seen time.Time
}

type recentRecord struct {
	idempotency.Record
	// remaining is how long the response was still to be replayed when it was remembered,
	// measured by the database's clock. A span of time is the same on every clock. After
	// that, the database says what its key is worth.
	remaining  time.Duration
	generation uint64
}

func newRecentRecords(bytes uint64) *recentRecords {
	return &recentRecords{cache: otter.Must(&otter.Options[idempotency.ID, recentRecord]{
		MaximumWeight: cmp.Or(bytes, recentBytes),
		Weigher: func(id idempotency.ID, r recentRecord) uint32 {
			return uint32(len(id.Scope) + len(id.Key) + len(r.Body) + recordOverhead)
		},
		ExpiryCalculator: otter.ExpiryWritingFunc(func(e otter.Entry[idempotency.ID, recentRecord]) time.Duration {
			return e.Value.remaining
		}),
	})}
}

// get returns the record of a key, if it is remembered and the memory can be trusted now.
// Otherwise it returns the generation to remember the record with.
func (r *recentRecords) get(id idempotency.ID) (rec idempotency.Record, known bool, generation uint64) {
	found, known := r.cache.GetIfPresent(id)
	r.mu.Lock()
	defer r.mu.Unlock()
	if known && found.generation == r.generation && time.Since(r.seen) < trustFor {
		return found.Record, true, r.generation
	}
	return idempotency.Record{}, false, r.generation
}

func (r *recentRecords) put(rec idempotency.Record, remaining time.Duration, generation uint64) {
	if remaining > 0 {
		r.cache.Set(rec.ID, recentRecord{rec, remaining, generation})
	}
}

// verify records which server has executed a statement that was sent at the given time. All
// records of another server are forgotten.
func (r *recentRecords) verify(server, sent time.Time) {
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

// forget forgets all records.
func (r *recentRecords) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.generation++
}

func (r *recentRecords) close() { r.cache.StopAllGoroutines() }
