package group

import (
	"context"
	"fmt"
	"testing"
	"time"

	"example.com/orders/internal/adapters/out/postgres/lanes"
	"example.com/orders/internal/adapters/out/postgres/pgtx"
)

// wanting is a session that has announced what it locks.
type wanting struct{ Session }

func (wanting) Announced() []string { return []string{"balance/ann"} }

func (w wanting) Blocked() []string { return w.Announced() }

// A command that is gone does not wait for the row: nothing would remove its mark.
func TestSettleOutside_MarksNoRowForACommandThatIsGone(t *testing.T) {
	t.Parallel()
	k := &Keys{}
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	timeout := fmt.Errorf("load: %w", pgtx.ErrRowHeld)
	for _, gone := range []bool{false, true} {
		m := &member{ctx: ctx, session: wanting{}, answered: make(chan struct{})}
		if gone {
			hangUp()
			m.wait()
		}
		k.settleOutside(m, timeout)
		if got := k.held.Any(m.announced()); got == gone {
			t.Errorf("gone: %t, and the row is held: %t", gone, got)
		}
		k.held.Remove(m.fate.marked)
	}
}

// A share that is not released would keep its principal from running commands for ever.
func TestPlace_LeavesNothingBehindWhenThereIsNone(t *testing.T) {
	t.Parallel()
	db, err := pgtx.Open(t.Context(), pgtx.Config{URL: "postgres://127.0.0.1", MaxConns: 3}) // one place
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	k := &Keys{db: db, shares: lanes.Shares{Size: 1}}
	leave, err := k.place(t.Context(), "ann")
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	soon, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()

	if _, err := k.place(soon, "bob"); err == nil {
		t.Fatal("bob got the place that ann has")
	}

	release, err := k.shares.Acquire(t.Context(), "bob")
	if err != nil {
		t.Fatalf("bob's share is still taken: %v", err)
	}
	release()
}
