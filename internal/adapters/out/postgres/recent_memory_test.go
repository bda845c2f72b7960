package postgres

import (
	"testing"
	"time"

	"example.com/orders/internal/idempotency"
)

// remembered returns a memory that has a record of the server that was started at that
// time, for as long as its lifetime remains.
func remembered(t *testing.T, server time.Time, remaining time.Duration) (*recentRecords, idempotency.ID) {
	t.Helper()
	r := newRecentRecords(0)
	t.Cleanup(r.close)
	id := idempotency.ID{Scope: "issuer ann", Key: "key-1"}
	r.verify(server, time.Now().Add(time.Hour)) // trusted throughout the test
	_, _, generation := r.get(id)
	r.put(idempotency.Record{Claim: idempotency.Claim{ID: id}}, remaining, generation)
	return r, id
}

// A server that was started at another time may be a promoted standby or a restored backup,
// which lacks the record. Behind a pooler no connection breaks.
func TestRecentRecords_AreOfOneServer(t *testing.T) {
	t.Parallel()
	started := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	r, id := remembered(t, started, time.Hour)
	r.verify(started, time.Now().Add(time.Hour))
	if _, known, _ := r.get(id); !known {
		t.Fatal("the record of the same server is not known")
	}

	r.verify(started.Add(time.Minute), time.Now().Add(time.Hour))

	if _, known, _ := r.get(id); known {
		t.Error("the record of another server is known")
	}
}

func TestRecentRecords_AreForgottenWhenTheirLifetimeEnds(t *testing.T) {
	t.Parallel()
	r, id := remembered(t, time.Now(), time.Hour)
	entry, known := r.cache.GetEntryQuietly(id)
	if left := entry.ExpiresAfter(); !known || left > time.Hour {
		t.Errorf("known = %v for %v, want no longer than the record lives", known, left)
	}
	for _, ended := range []time.Duration{0, -time.Second} {
		r, id := remembered(t, time.Now(), ended)
		if _, known, _ := r.get(id); known {
			t.Errorf("a record with a lifetime of %v is known", ended)
		}
	}
}
