package group

import (
	"context"
	"fmt"
	"testing"

	"example.com/orders/internal/adapters/out/postgres/admission"
	"example.com/orders/internal/adapters/out/postgres/pgtx"
)

// wanting is a session that has announced what it locks.
type wanting struct{ Session }

func (wanting) Announced() []string { return []string{"balance/ann"} }

func (w wanting) Blocked() []string { return w.Announced() }

// A command that is gone does not wait for the row: nothing would remove its mark.
func TestResolveOutside_MarksNoRowForACommandThatIsGone(t *testing.T) {
	t.Parallel()
	k := &Executor{held: &admission.HeldRows{}}
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	timeout := fmt.Errorf("load: %w", pgtx.ErrRowHeld)
	for _, gone := range []bool{false, true} {
		m := &member{ctx: ctx, session: wanting{}, answered: make(chan struct{})}
		if gone {
			hangUp()
			m.wait()
		}
		k.resolveOutside(m, timeout)
		if got := k.held.Any(m.announced()); got == gone {
			t.Errorf("gone: %t, and the row is held: %t", gone, got)
		}
		k.held.Remove(m.outcome.marked)
	}
}
