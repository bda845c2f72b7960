package postgres

import (
	"cmp"
	"time"

	"github.com/maypok86/otter/v2"

	"example.com/orders/internal/idempotency"
)

// recentBytes is how much of the guard's records is remembered unless configured.
const recentBytes = 64 << 20

// recordOverhead is about what a record takes beside its texts.
const recordOverhead = 400

// recentRecords remembers records whose commit this process has seen acknowledged, or
// that it has read. They never change, so a storm of retries does not reach the
// database.
type recentRecords struct {
	cache *otter.Cache[idempotency.ID, recentRecord]
}

type recentRecord struct {
	idempotency.Record
	// left is how long the record has still to live, counted by the database's clock: a
	// span of time is the same by every clock.
	left time.Duration
}

func newRecentRecords(bytes uint64) recentRecords {
	return recentRecords{otter.Must(&otter.Options[idempotency.ID, recentRecord]{
		MaximumWeight: cmp.Or(bytes, recentBytes),
		Weigher: func(id idempotency.ID, r recentRecord) uint32 {
			return uint32(len(id.Principal) + len(id.Key) + len(r.Body) + recordOverhead)
		},
		ExpiryCalculator: otter.ExpiryCreatingFunc(func(e otter.Entry[idempotency.ID, recentRecord]) time.Duration {
			return e.Value.left
		}),
	})}
}

func (r recentRecords) get(id idempotency.ID) (idempotency.Record, bool) {
	known, ok := r.cache.GetIfPresent(id)
	return known.Record, ok
}

func (r recentRecords) put(rec idempotency.Record, left time.Duration) {
	if left > 0 {
		r.cache.SetIfAbsent(rec.ID, recentRecord{rec, left})
	}
}

func (r recentRecords) close() { r.cache.StopAllGoroutines() }
