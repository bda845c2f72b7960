package lanes

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"example.com/orders/kit/guard"
)

func TestQueue_TakesTurns(t *testing.T) {
	t.Parallel()
	var q queue[string]
	for _, command := range []string{"a1", "a2", "a3", "b1", "b2", "c1"} {
		q.push(guard.Scope(command[:1]), command)
	}
	take := func(n int, want ...string) {
		t.Helper()
		if taken := q.pop(n); !slices.Equal(taken, want) {
			t.Errorf("took %v; want %v", taken, want)
		}
	}
	take(4, "a1", "b1", "c1", "a2")
	q.push("c", "c2")
	take(2, "b2", "a3")
	take(2, "c2")
	take(2)
	if len(q.lines) != 0 || len(q.turns) != 0 {
		t.Errorf("an empty queue remembers %v, %v", q.lines, q.turns)
	}
}

func TestLanes_AreLeftOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New(2, func(func(), []string) { t.Error("a group ran") })
		first, _ := l.Enter("ann", "1")
		second, entered := l.Enter("ann", "2")
		if _, third := l.Enter("ann", "3"); !entered || third {
			t.Fatal("two lanes were not taken by the first two")
		}
		l.queue.pop(1)
		first()
		first()
		if l.free != 1 {
			t.Errorf("%d lanes are free; want one", l.free)
		}
		second()
	})
}

// A lane that is kept for too long is passed on to the queue.
func TestLanes_AreNotKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		groups := make(chan int, 1)
		l := New(1, func(leave func(), group []string) { groups <- len(group); leave() })
		begun := time.Now()
		leave, _ := l.Enter("ann", "1")
		l.Enter("ann", "2")
		l.Enter("bob", "3")
		if n := <-groups; n != 2 {
			t.Errorf("a group of %d; want both that waited", n)
		}
		if kept := time.Since(begun); kept != keepLane {
			t.Errorf("the lane was kept for %s", kept)
		}
		synctest.Wait()
		leave()
		if l.free != 1 {
			t.Errorf("%d lanes are free; want one", l.free)
		}
	})
}

// What an operation loads can change, so the memory of it expires.
func TestUngroupable_IsForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(*testing.T) {
		var operations Ungroupable
		operations.Add("adjustStock")
		time.Sleep(ungroupableFor - time.Second)
		if !operations.Has("adjustStock") || operations.Has("createOrder") {
			t.Error("the operation is forgotten, or another one is not suited")
		}
		time.Sleep(time.Second)
		if operations.Has("adjustStock") {
			t.Error("the operation is not forgotten")
		}
	})
}

func TestRetries_FollowTheLastKeys(t *testing.T) {
	t.Parallel()
	var r RetryPredictor
	for n, want := range map[int]bool{maxRetries / 2: false, maxRetries/2 + 1: true, 5 * maxRetries: true} {
		r = RetryPredictor{}
		for range n {
			r.Note(true)
		}
		if r.Likely() != want {
			t.Errorf("after %d retries: likely %t, want %t", n, r.Likely(), want)
		}
	}
	for range maxRetries {
		r.Note(false)
	}
	r.Note(false)
	r.Note(true)
	if r.Likely() {
		t.Error("one retry after many new keys makes another likely")
	}
}
