package admission

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestHeldRows_CountTheirWaiters(t *testing.T) {
	t.Parallel()
	var held HeldRows
	anns := []string{"balance/ann"}
	expect := func(want bool) {
		t.Helper()
		if got := held.Any(anns); got != want {
			t.Errorf("held: %t, want %t", got, want)
		}
	}
	expect(false)
	held.Add(anns)
	held.Add([]string{"product/tea"})
	held.Add(anns)
	expect(true)
	held.Remove(anns)
	expect(true)
	held.Remove(anns)
	expect(false)
	if !held.Any([]string{"product/cup", "product/tea"}) || held.Any([]string{"order/7"}) {
		t.Error("the product is not held, or the order is")
	}
}

// expectLockTimeout checks the lock timeout in a lane.
func (p *Places) expectLockTimeout(t *testing.T, want time.Duration) {
	t.Helper()
	place, err := p.InLane(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if place.LockTimeout != want {
		t.Errorf("the lock timeout is %s, want %s", place.LockTimeout, want)
	}
	place.Leave()
}

func TestLockTimeout_FollowsThePaceUnlessARowIsHeld(t *testing.T) {
	t.Parallel()
	p := New(3)
	p.expectLockTimeout(t, minLockTimeout)
	for range 100 {
		p.RecordPace(50 * time.Millisecond)
	}
	if got := p.lockTimeout().Round(10 * time.Millisecond); got != 400*time.Millisecond {
		t.Errorf("the lock timeout is %s, want eight times the pace", got)
	}
	p.RecordPace(time.Hour)
	p.expectLockTimeout(t, MaxLockTimeout)
	rows := []string{"balance/ann"}

	p.Held.Add(rows)

	p.expectLockTimeout(t, minLockTimeout)
	p.Held.Remove(rows)
	p.expectLockTimeout(t, MaxLockTimeout)
}

// A wait for a place says nothing about how long transactions take.
func TestLockTimeout_CountsNoWaitForAPlaceAsPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := New(3) // one writes
		job, err := p.Job(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Minute, job.Leave)
		place, err := p.InLane(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		place.Committed()
		place.Leave()
		p.expectLockTimeout(t, minLockTimeout)
	})
}
