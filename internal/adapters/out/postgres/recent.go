package postgres

import (
	"cmp"
	"time"

	"github.com/maypok86/otter/v2"

	"example.com/orders/internal/idempotency"
)

// recentBytes bounds the memory for recent records unless the configuration does.
const recentBytes = 64 << 20

// recordOverhead is roughly what a record takes beside its texts.
const recordOverhead = 400

// recentRecords remembers records that this process has seen committed: it got the answer
// to the COMMIT, or it has read them. Records never change, so that a storm of retries
// need not reach the database.
type recentRecords struct {
	cache *otter.Cache[idempotency.ID, recentRecord]
}

type recentRecord struct {
	idempotency.Record
	// remaining is the lifetime that the record had when it was remembered, measured by
	// the database's clock. A span of time is the same on every clock.
	remaining time.Duration
}

func newRecentRecords(bytes uint64) recentRecords {
	return recentRecords{otter.Must(&otter.Options[idempotency.ID, recentRecord]{
		MaximumWeight: cmp.Or(bytes, recentBytes),
		Weigher: func(id idempotency.ID, r recentRecord) uint32 {
			return uint32(len(id.Scope) + len(id.Key) + len(r.Body) + recordOverhead)
		},
		ExpiryCalculator: otter.ExpiryCreatingFunc(func(e otter.Entry[idempotency.ID, recentRecord]) time.Duration {
			return e.Value.remaining
		}),
	})}
}

func (r recentRecords) get(id idempotency.ID) (idempotency.Record, bool) {
	known, ok := r.cache.GetIfPresent(id)
	return known.Record, ok
}

func (r recentRecords) put(rec idempotency.Record, remaining time.Duration) {
	if remaining > 0 {
		r.cache.SetIfAbsent(rec.ID, recentRecord{rec, remaining})
	}
}

func (r recentRecords) close() { r.cache.StopAllGoroutines() }
