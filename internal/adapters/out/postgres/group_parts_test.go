package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/idempotency"
)

func TestWaitingLine_TakesTurns(t *testing.T) {
	t.Parallel()
	var line waitingLine
	for _, name := range []string{"a1", "a2", "a3", "b1", "b2", "c1"} {
		id := idempotency.ID{Scope: idempotency.Scope(name[:1]), Key: name}
		line.push(&member{attempt: attempt{claim: idempotency.Claim{ID: id}}})
	}
	take := func(n int, want ...string) {
		t.Helper()
		var taken []string
		for _, m := range line.pop(n) {
			taken = append(taken, m.claim.Key)
		}
		if !slices.Equal(taken, want) {
			t.Errorf("took %v; want %v", taken, want)
		}
	}
	take(4, "a1", "b1", "c1", "a2")
	line.push(&member{attempt: attempt{claim: idempotency.Claim{ID: idempotency.ID{Scope: "c", Key: "c2"}}}})
	take(2, "b2", "a3")
	take(2, "c2")
	take(2)
	if len(line.lines) != 0 || len(line.turns) != 0 {
		t.Errorf("an empty line remembers %v, %v", line.lines, line.turns)
	}
}

func TestLanes_LeavesOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &lanes{free: 2}
		first, second := l.enter(&member{}), l.enter(&member{})
		if first == nil || second == nil || l.enter(&member{}) != nil {
			t.Fatal("two lanes were not taken by the first two")
		}
		l.queue.pop(1)
		first.leave()
		first.leave()
		if l.free != 1 {
			t.Errorf("%d lanes are free; want one", l.free)
		}
		second.leave()
	})
}

// A lane that is kept for too long is passed on to those who wait.
func TestLanes_AreNotKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		groups := make(chan int, 1)
		l := &lanes{free: 1, lead: func(l *lane, members []*member) { groups <- len(members); l.leave() }}
		begun := time.Now()
		kept := l.enter(&member{})
		l.enter(&member{})
		l.enter(&member{})
		if n := <-groups; n != 2 {
			t.Errorf("a group of %d; want both that waited", n)
		}
		if kept := time.Since(begun); kept != 20*time.Millisecond {
			t.Errorf("the lane was kept for %s", kept)
		}
		synctest.Wait()
		kept.leave()
		if l.free != 1 {
			t.Errorf("%d lanes are free; want one", l.free)
		}
	})
}

func TestBreaker_OpensAfterFailuresAndCloses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b breaker
		for range maxFailures {
			b.record(true)
		}
		b.record(false) // one more success than failures
		b.record(true)
		if b.isOpen() {
			t.Errorf("open after %d failures more than successes", maxFailures)
		}
		b.record(true)
		if !b.isOpen() {
			t.Errorf("closed after %d failures more than successes", maxFailures+1)
		}
		time.Sleep(openFor)
		if b.isOpen() {
			t.Errorf("open after %s", openFor)
		}
		b.record(true)
		if b.isOpen() {
			t.Error("one failure opened it again")
		}
	})
}

func TestHeldRows_CountsItsWaiters(t *testing.T) {
	t.Parallel()
	var held heldRows
	anns := balanceWant(payment.BalanceQuery{CustomerID: "ann", Currency: "RUB"})
	expect := func(want bool) {
		t.Helper()
		if got := held.any(anns); got != want {
			t.Errorf("held: %t, want %t", got, want)
		}
	}
	expect(false)
	held.add(anns.rows())
	held.add([]string{"product/tea"})
	held.add(anns.rows())
	expect(true)
	held.remove(anns.rows())
	expect(true)
	held.remove(anns.rows())
	expect(false)
	if !held.any(basketWant{SKUs: []string{"cup", "tea"}}) || held.any(orderWant{id: 7}) {
		t.Error("the product is not held, or the order is")
	}
}

// A command that is gone does not wait for the row: nothing would remove its mark.
func TestSettleAlone_HoldsNoRowForWhoIsGone(t *testing.T) {
	t.Parallel()
	k := &Keys{}
	anns := balanceWant(payment.BalanceQuery{CustomerID: "ann", Currency: "RUB"})
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	timeout := fmt.Errorf("load: %w", &serverError{state: lockNotAvailable})
	for _, gone := range []bool{false, true} {
		m := &member{ctx: ctx, wants: anns, settled: make(chan struct{})}
		if gone {
			hangUp()
			m.wait()
		}
		k.settleAlone(m, timeout)
		if got := k.held.any(anns); got == gone {
			t.Errorf("gone: %t, and the row is held: %t", gone, got)
		}
		k.held.remove(m.fate.held)
	}
}

// What an operation loads can change, so the memory of it expires.
func TestUnsuited_IsForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(*testing.T) {
		var operations unsuited
		operations.add("adjustStock")
		time.Sleep(unsuitedFor - time.Second)
		if !operations.has("adjustStock") || operations.has("createOrder") {
			t.Error("the operation is forgotten, or another one is not suited")
		}
		time.Sleep(time.Second)
		if operations.has("adjustStock") {
			t.Error("the operation is not forgotten")
		}
	})
}

func TestKeysInFlight_HasAKeyOnce(t *testing.T) {
	t.Parallel()
	var keys keysInFlight
	id := idempotency.ID{Scope: "ann", Key: "1"}
	other := idempotency.ID{Scope: "bob", Key: "1"}
	if !keys.enter(id) || keys.enter(id) || !keys.enter(other) || !keys.has(id) {
		t.Error("a key was not added, or added twice")
	}
	keys.leave(id)
	if keys.has(id) || !keys.has(other) || !keys.enter(id) {
		t.Error("a key that has left is present, or its neighbour is not")
	}
}

// Whoever has run does not know whether the group commits; whoever has not run does.
func TestMember_AnswersAtItsDeadline(t *testing.T) {
	t.Parallel()
	ctx, hangUp := context.WithCancel(t.Context())
	hangUp()
	for _, ran := range []bool{false, true} {
		m := &member{ctx: ctx, ran: ran, settled: make(chan struct{})}
		m.wait()
		m.settle(fate{}) // comes too late
		if err := m.fate.err; err == nil || errors.Is(err, core.ErrOutcomeUnknown) != ran {
			t.Errorf("ran: %t, the error is %v", ran, err)
		}
	}
}
