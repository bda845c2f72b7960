package records

import (
	"testing"
	"time"

	"example.com/orders/kit/guard"
)

// remembered returns a memory that has a record of the server that was started at that
// time, for as long as its lifetime remains.
func remembered(t *testing.T, server time.Time, remaining time.Duration) (*Recent, guard.ID) {
	t.Helper()
	r := NewRecent()
	t.Cleanup(r.Close)
	id := guard.ID{Scope: "issuer ann", Key: "key-1"}
	r.Verify(server, time.Now().Add(time.Hour)) // trusted throughout the test
	_, _, generation := r.Get(id)
	r.Put(guard.Record{Claim: guard.Claim{ID: id}}, remaining, generation)
	return r, id
}

// A server that was started at another time may be a promoted standby or a restored backup,
// which lacks the record. Behind a pooler no connection breaks.
func TestRecent_AreOfOneServer(t *testing.T) {
	t.Parallel()
	started := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	r, id := remembered(t, started, time.Hour)
	r.Verify(started, time.Now().Add(time.Hour))
	if _, known, _ := r.Get(id); !known {
		t.Fatal("the record of the same server is not known")
	}

	r.Verify(started.Add(time.Minute), time.Now().Add(time.Hour))

	if _, known, _ := r.Get(id); known {
		t.Error("the record of another server is known")
	}
}

func TestRecent_AreForgottenWhenTheirLifetimeEnds(t *testing.T) {
	t.Parallel()
	r, id := remembered(t, time.Now(), time.Hour)
	entry, known := r.cache.GetEntryQuietly(id)
	if left := entry.ExpiresAfter(); !known || left > time.Hour {
		t.Errorf("known = %v for %v, want no longer than the record lives", known, left)
	}
	for _, ended := range []time.Duration{0, -time.Second} {
		r, id := remembered(t, time.Now(), ended)
		if _, known, _ := r.Get(id); known {
			t.Errorf("a record with a lifetime of %v is known", ended)
		}
	}
}
