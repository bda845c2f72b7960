package probe

import (
	"fmt"
	"slices"
	"time"
)

func crowd(r *run) {
	meetings, doubled, lost := 0, 0, 0
	for i := range r.Keys {
		r.progressf("%d of %d keys", i, r.Keys)
		op := r.prepare()
		replies := r.crowd(op, i == 0)
		if !met(replies) {
			continue
		}
		meetings++
		for _, got := range replies {
			if got.Status == 0 { // it may be one connection too many
				lost++
			}
		}
		if r.effects(op) > 1 {
			doubled++
		}
		r.judgeCrowd(op, replies)
	}
	switch {
	case meetings == 0:
		r.stop(NotApplicable, "no two requests met")
	case len(r.Servers) == 1 && doubled == 0:
		r.stop(NotApplicable, "one process only; there, %d keys of %d requests had one effect each", meetings, r.Crowd)
	}
	r.notef("%d of %d keys had more than one effect", doubled, meetings)
	if lost > 0 {
		r.notef("%d requests were not answered", lost)
	}
}

// crowd sends one request many times at once. If commands can be held, each ends after
// all have begun.
func (r *run) crowd(op *operation, hold bool) []Exchange {
	var trap Trap
	if hold && op.HoldBefore != nil {
		trap = r.set(op.HoldBefore)
	}
	calls := make([]call, r.Crowd)
	for i := range calls {
		calls[i] = r.by(op, caught(op.Do, trap))
		if i%2 == 1 {
			calls[i] = r.elsewhere(calls[i])
		}
	}
	var replies []Exchange
	var failed error
	done := make(chan struct{})
	go func() {
		defer close(done)
		replies, failed = together(r, calls)
	}()
	if trap.Await != nil {
		r.heldOrDone(trap, done)
	}
	r.command("release", trap.Undo)
	<-done
	if failed != nil {
		r.stop(Unreachable, "%v", failed)
	}
	return replies
}

// heldOrDone waits until a command is held, or all requests are answered.
func (r *run) heldOrDone(trap Trap, done <-chan struct{}) {
	err := r.awaitHeld(trap, done)
	select {
	case <-done:
	default:
		if err != nil {
			r.stop(Unreachable, "hold: %v", err)
		}
		r.pause(r.Settle)
	}
}

// judgeCrowd judges one race: one effect, and each answer is the first response, or tells to
// come back.
func (r *run) judgeCrowd(op *operation, replies []Exchange) {
	successes := slices.DeleteFunc(slices.Clone(replies), func(e Exchange) bool { return !e.succeeded() })
	if len(successes) > 0 { // before a retry, which may run once more
		other := slices.IndexFunc(successes, func(e Exchange) bool { return !e.same(successes[0]) })
		r.once(op, successes[0], successes[max(other, 0)])
	}
	final, waited := r.retry(r.by(op, op.Do))
	if final.Status == 0 {
		r.stop(Unreachable, "after the race, a retry was not answered: %v", final.Err)
	}
	if len(successes) == 0 {
		r.once(op, replies[0], final)
	}
	odd := -1
	for i, got := range replies {
		if got.Status != 0 && !r.equal(got, final) && !r.later(got) {
			odd = i
		}
	}
	switch {
	case r.later(final):
		r.judge(op, "crowd", r.locked(waited), final)
	case odd >= 0:
		r.judge(op, "crowd", r.compared(replies[odd], final), replies[odd], final)
	default:
		r.judge(op, "crowd", r.compared(final, final), final)
	}
}

func hangUp(r *run) {
	op := r.prepare()
	r.need(op.HoldBefore != nil, "hold.before")
	r.leave(func(op *operation) setter { return op.HoldBefore })
	if r.has(op.HoldAfter != nil, "hold.after") {
		r.leave(func(op *operation) setter { return op.HoldAfter })
	}
}

// leave hangs up while a trap of the operation has caught the command, and retries.
func (r *run) leave(trap func(*operation) setter) {
	op := r.prepare()
	slow := r.slowness(op, trap(op))
	op = r.prepare()
	h := r.hold(trap(op), r.by(op, op.Do))
	defer h.release()
	h.hangUp()
	first := <-h.reply
	if first.Status != 0 {
		r.stop(NotApplicable, "the response came before the client hung up")
	}
	answers := make(chan func() (Exchange, time.Duration), 1)
	go func() {
		got, waited := r.retry(r.elsewhere(r.by(op, op.Do)))
		answers <- func() (Exchange, time.Duration) { return got, waited }
	}()
	r.pause(r.Settle) // for a service that would stop the command now, or run it once more
	h.release()
	got, waited := (<-answers)()
	r.pause(slow + r.Settle) // for the first command to end
	r.once(op, first, got)
	r.judge(op, "hang-up", r.found(op, got, waited), first, got)
}

// slowness returns how long a command takes that is held by a header and cannot be
// released.
func (r *run) slowness(op *operation, hold setter) time.Duration {
	trap := r.set(hold)
	defer r.command("release", trap.Undo)
	if trap.Undo != nil {
		return 0
	}
	began := time.Now()
	r.send(r.by(op, caught(op.Do, trap)))
	return time.Since(began)
}

// found returns the outcome of a retry after a lost response. Only where replays are
// marked does a retry show that the command ran once more after it had been stopped.
func (r *run) found(op *operation, got Exchange, waited time.Duration) string {
	switch {
	case r.later(got):
		return r.locked(waited)
	case !got.succeeded():
		return got.Outcome()
	case r.marked(got):
		return "answered"
	}
	r.pause(r.Settle)
	if r.marked(r.send(r.elsewhere(r.by(op, op.Do)))) {
		return "ran as new"
	}
	return "answered"
}

func (r *run) locked(waited time.Duration) string {
	return fmt.Sprintf("locked for %v, longer than patience (%v)", waited.Round(time.Second), r.Patience)
}

func killedAfter(r *run) {
	op := r.prepare()
	r.need(op.HoldAfter != nil, "hold.after")
	r.need(op.Kill != nil, "kill")
	r.counts(op)
	h := r.hold(op.HoldAfter, r.by(op, op.Do))
	defer h.release()
	first := r.kill(op, h, true)
	got, waited := r.retry(r.elsewhere(r.by(op, op.Do)))
	r.once(op, first, got)
	r.judge(op, "killed after", r.found(op, got, waited), first, got)
}

func killedBefore(r *run) {
	op := r.prepare()
	r.need(op.HoldBefore != nil, "hold.before")
	r.need(op.Kill != nil, "kill")
	h := r.hold(op.HoldBefore, r.by(op, op.Do))
	defer h.release()
	first := r.kill(op, h, false)
	got, waited := r.retry(r.elsewhere(r.by(op, op.Do)))
	outcome := r.found(op, got, waited)
	if got.succeeded() && !r.later(got) {
		outcome = "ran as new"
		r.notef("the key was locked for %v", waited.Round(100*time.Millisecond))
	}
	r.judge(op, "killed before", outcome, first, got)
	if r.later(got) {
		return
	}
	r.pause(r.Settle) // for a command that would go on after the client has left
	r.once(op, first, got)
}

// kill kills the process of a held command, lets everything else go on, and starts the
// process again.
func (r *run) kill(op *operation, h held, after bool) Exchange {
	if after {
		r.await("the effect", func() bool { return r.effects(op) > 0 })
	}
	r.command("kill", op.Kill)
	first := <-h.reply
	h.release()
	r.command("start", op.Start)
	r.await("an answer of the process that was started", func() bool {
		got := r.try(call{Request: Request{Method: "GET", Path: "/"}, server: r.Servers[0]})
		return got.Status != 0 && !got.starting()
	})
	if first.succeeded() {
		r.stop(NotApplicable, "the response came before the process was killed")
	}
	if !after && r.effects(op) > 0 {
		r.stop(NotApplicable, "the effect came before the process was killed, or another process ran the command")
	}
	return first
}

func storeDown(r *run) {
	op := r.prepare()
	r.need(op.StoreDown != nil, "store.down")
	r.need(op.StoreUp != nil, "store.up")
	r.command("store.down", op.StoreDown)
	got := r.try(r.by(op, op.Do))
	r.command("store.up", op.StoreUp)
	outcome := got.Outcome()
	// An unanswered request may have waited for the store, and run under its
	// protection.
	if r.ran(op, 0) && got.Status != 0 {
		outcome = "ran"
	}
	r.judge(op, "store", outcome, got)
	again, waited := r.retry(r.by(op, op.Do))
	if r.later(again) {
		r.notef("then the key was %s", r.locked(waited))
		return
	}
	r.once(op, got, again)
}

func expiry(r *run) {
	op := r.prepare()
	r.need(op.Expire != nil, "expire")
	first := r.first(op, r.by(op, op.Do))
	for range 2 { // the second line must not wear off
		r.effects(op)
		r.command("expire", op.Expire)
		got := r.send(r.by(op, op.Do))
		r.judgeExpired(op, "expired", first, got)
		if !r.states("expired other") || !r.has(len(op.Others) > 0, "other request") {
			return
		}
		r.command("expire", op.Expire)
		r.judgeExpired(op, "expired other", first, r.send(r.by(op, op.Others[0])))
	}
}

func (r *run) judgeExpired(op *operation, rule string, first, got Exchange) {
	before := op.after - op.before
	outcome := got.Outcome()
	switch {
	case r.ran(op, before):
		outcome = "ran"
	case r.marked(got):
		r.stop(NotApplicable, "expire left the record: the answer is still a replay")
	case got.Status == first.Status:
		outcome = "remembered"
	}
	r.judge(op, rule, outcome, first, got)
}
