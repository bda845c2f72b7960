package admission

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"example.com/orders/internal/core"
	"example.com/orders/kit/guard"
)

// within returns a context that ends soon.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// enter enters until no place is free within a second, and returns the places.
func enter(t *testing.T, one func(context.Context) (*Place, error)) (entered []*Place) {
	t.Helper()
	for {
		place, err := one(within(t, time.Second))
		if errors.Is(err, core.ErrUnavailable) {
			return entered
		}
		if err != nil {
			t.Fatal(err)
		}
		entered = append(entered, place)
	}
}

// outside enters outside the lanes.
func outside(p *Places, principal guard.Scope, rowHeld bool) func(context.Context) (*Place, error) {
	return func(ctx context.Context) (*Place, error) { return p.Outside(ctx, principal, rowHeld) }
}

func leave(places []*Place) {
	for _, place := range places {
		place.Leave()
	}
}

func TestPlaces_AreLimitedByKind(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		conns, lanes                   int
		writers, outside, share, waits int
	}{
		"ten connections":       {10, 2, 8, 6, 5, 5},
		"ten without lanes":     {10, 0, 8, 8, 6, 6},
		"many lanes":            {10, 100, 8, 2, 1, 1},
		"three connections":     {3, 2, 1, 1, 1, 1},
		"a hundred connections": {100, 2, 75, 73, 55, 55},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := New(c.conns)
				p.Reserve(c.lanes)
				for kind, of := range map[string]struct {
					want int
					one  func(context.Context) (*Place, error)
				}{
					"job":                {c.writers, p.Job},
					"in a lane":          {c.writers, p.InLane},
					"outside":            {c.outside, outside(p, "", false)},
					"of a principal":     {c.share, outside(p, "ann", false)},
					"waiting for a row":  {c.waits, outside(p, "", true)},
					"a principal's wait": {c.share, outside(p, "ann", true)},
				} {
					entered := enter(t, of.one)
					if len(entered) != of.want {
						t.Errorf("%s: %d places, want %d", kind, len(entered), of.want)
					}
					leave(entered)
				}
				if !p.Idle() {
					t.Error("something is left behind")
				}
			})
		})
	}
}

// Commands that wait for rows leave places to those that do not, and jobs to lanes.
func TestPlaces_OfOneKindAreLeftToOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := New(10)
		p.Reserve(2)
		waiters := enter(t, outside(p, "", true))
		other, err := p.Outside(within(t, time.Second), "bob", false)
		if err != nil || other.LockTimeout == 0 {
			t.Fatalf("%v, lock timeout %v; want a place that waits briefly", err, other.LockTimeout)
		}
		if rest := enter(t, outside(p, "", false)); len(rest) > 0 {
			t.Errorf("%d places are left", len(rest))
		}
		if inLanes := enter(t, p.InLane); len(inLanes) != 2 {
			t.Errorf("%d places are left to lanes, want 2", len(inLanes))
		}
		other.Leave()
		leave(waiters)
		if one, err := p.Outside(t.Context(), "bob", false); err != nil || one.LockTimeout != 0 {
			t.Errorf("%v, lock timeout %v; want a place that may wait", err, one.LockTimeout)
		}
	})
}

// A share that is not released would keep its principal from running commands for ever.
func TestOutside_LeavesNothingBehindWithoutAPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := New(3) // one place
		anns, err := p.Outside(t.Context(), "ann", false)
		if err != nil {
			t.Fatal(err)
		}
		for _, rowHeld := range []bool{false, true} {
			if _, err := p.Outside(within(t, time.Second), "bob", rowHeld); !errors.Is(err, core.ErrUnavailable) {
				t.Fatalf("bob got the place that ann has: %v", err)
			}
		}
		anns.Leave()
		if !p.Idle() {
			t.Error("bob's share is still taken")
		}
		if place, err := p.Outside(within(t, time.Second), "bob", true); err != nil {
			t.Errorf("a place is still taken: %v", err)
		} else {
			place.Leave()
		}
	})
}

// Reads do not wait behind commands.
func TestShare_IsOfReadsOrCommands(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := New(3) // a share of one
		for _, isRead := range []bool{false, true} {
			release, err := p.Share(t.Context(), "ann", isRead)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.Share(within(t, time.Second), "ann", isRead); !errors.Is(err, core.ErrUnavailable) {
				t.Errorf("reads: %t, ann got two places; want a share of one: %v", isRead, err)
			}
			t.Cleanup(release)
		}
		if _, err := p.Outside(within(t, time.Second), "ann", false); err == nil {
			t.Error("a command with a key needs no share")
		}
	})
}

// The server still works on a COMMIT that is given up.
func TestKeep_KeepsThePlaceUntilTheAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := New(12) // nine may write
		var answered []func()
		for range maxUnanswered {
			place, err := p.InLane(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			answered = append(answered, place.Keep())
			place.Leave()
		}
		for kind, one := range map[string]func(context.Context) (*Place, error){
			"job": p.Job, "in a lane": p.InLane, "outside": outside(p, "ann", false),
		} {
			if _, err := one(t.Context()); !errors.Is(err, core.ErrUnavailable) {
				t.Errorf("%s: %v; want it refused while %d COMMITs are unanswered", kind, err, p.Unanswered())
			}
		}
		answered[0]()
		if n := len(enter(t, p.Job)); n != 9-(maxUnanswered-1) {
			t.Errorf("%d places, want all but those of unanswered COMMITs", n)
		}
	})
}
