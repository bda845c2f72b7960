package probe

import (
	"fmt"
	"strings"
	"time"
)

func crowd(r *run) {
	meetings, doubled := 0, 0
	for i := range r.Keys {
		r.progressf("%d of %d keys", i, r.Keys)
		op := r.prepare()
		replies := r.crowd(op, i == 0)
		if !met(replies) {
			continue
		}
		meetings++
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
		r.command("hold", trap.Await)
		r.pause(r.Settle)
	}
	r.command("release", trap.Undo)
	<-done
	if failed != nil {
		r.stop(Unreachable, "%v", failed)
	}
	return replies
}

// judgeCrowd judges one race: one effect, and each answer is the first response, or tells to
// come back.
func (r *run) judgeCrowd(op *operation, replies []Exchange) {
	final, _ := r.retry(r.by(op, op.Do))
	odd := -1
	for i, got := range replies {
		if !got.same(final) && !got.later() {
			odd = i
		}
	}
	if odd >= 0 {
		r.judge(op, "crowd", compared(replies[odd], final), replies[odd], final)
	} else {
		r.judge(op, "crowd", compared(final, final), final)
	}
	r.once(op, replies[0], final)
}

func hangUp(r *run) {
	op := r.prepare()
	r.need(op.HoldBefore != nil, "hold.before")
	slow := r.slowness(op)
	op = r.prepare()
	h := r.hold(op.HoldBefore, r.by(op, op.Do))
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
	r.judge(op, "hang-up", r.found(op, got, waited), first, got)
	r.once(op, first, got)
}

// slowness returns how long a command takes that is held by a header and cannot be
// released.
func (r *run) slowness(op *operation) time.Duration {
	trap := r.set(op.HoldBefore)
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
	case got.later():
		return fmt.Sprintf("locked for %v, longer than patience (%v)", waited.Round(time.Second), r.Patience)
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

func killedAfter(r *run) {
	op := r.prepare()
	r.need(op.HoldAfter != nil && op.Kill != nil, "hold.after or kill")
	h := r.hold(op.HoldAfter, r.by(op, op.Do))
	defer h.release()
	first := r.kill(op, h, true)
	got, waited := r.retry(r.elsewhere(r.by(op, op.Do)))
	r.judge(op, "killed after", r.found(op, got, waited), first, got)
	r.once(op, first, got)
}

func killedBefore(r *run) {
	op := r.prepare()
	r.need(op.HoldBefore != nil && op.Kill != nil, "hold.before or kill")
	h := r.hold(op.HoldBefore, r.by(op, op.Do))
	defer h.release()
	first := r.kill(op, h, false)
	got, waited := r.retry(r.elsewhere(r.by(op, op.Do)))
	outcome := r.found(op, got, waited)
	if got.succeeded() {
		outcome = "ran as new"
		r.notef("the key was locked for %v", waited.Round(100*time.Millisecond))
	}
	r.judge(op, "killed before", outcome, first, got)
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
		return r.try(call{Request: Request{Method: "GET", Path: "/"}, server: r.Servers[0]}).Status != 0
	})
	if first.succeeded() {
		r.stop(NotApplicable, "the response came before the process was killed")
	}
	if !after && r.effects(op) > 0 {
		r.stop(NotApplicable, "the effect came before the process was killed")
	}
	return first
}

func storeDown(r *run) {
	op := r.prepare()
	r.need(op.StoreDown != nil && op.StoreUp != nil, "store.down or store.up")
	r.command("store.down", op.StoreDown)
	got := r.try(r.by(op, op.Do))
	r.command("store.up", op.StoreUp)
	outcome := got.Outcome()
	// An unanswered request may have waited for the store, and run under its
	// protection.
	if r.effects(op) > 0 && got.Status != 0 {
		outcome = "ran"
	}
	r.judge(op, "store", outcome, got)
	again, _ := r.retry(r.by(op, op.Do))
	r.once(op, got, again)
}

func expiry(r *run) {
	op := r.prepare()
	r.need(op.Expire != nil, "expire")
	first := r.first(r.by(op, op.Do))
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
	case r.effects(op) > before:
		outcome = "ran"
	case r.marked(got):
		r.stop(NotApplicable, "expire left the record: the answer is still a replay")
	case got.Status == first.Status:
		outcome = "remembered"
	}
	r.judge(op, rule, outcome, first, got)
}

func otherPrincipal(r *run) {
	op := r.prepare()
	r.need(op.B != nil, "second principal")
	first := r.first(r.by(op, op.Do))
	one := r.effects(op)
	theirs := r.by(op, op.Do)
	theirs.who = op.B
	got := r.send(theirs)
	ran := r.effects(op) > one
	outcome := got.Outcome()
	switch {
	case ran:
		outcome = "separate"
	case !got.succeeded():
		r.judgeHidden(op, first, got)
		theirs.keys = []string{NewKey(r.Seed, op.key)}
		if again := r.send(theirs); again.Status == got.Status {
			r.stop(NotApplicable, "the second principal's request was %s, under another key as well", got.Outcome())
		}
	case got.same(first), r.marked(got), got.same(r.send(r.by(op, op.Do))):
		outcome = "replayed"
	default:
		outcome = "separate"
		r.notef("the effect of b is not visible to a")
	}
	r.judge(op, "scope", outcome, first, got)
	if outcome == "separate" {
		r.pause(r.Settle)
		r.replays(op, theirs, got)
		r.replays(op, r.by(op, op.Do), first)
	}
}

func secrets(r *run) {
	op := r.prepare()
	first := r.first(r.by(op, op.Do))
	r.effects(op)
	var calls []call
	for _, req := range append(op.Others, op.Routes...) {
		if op.Canary != "" && strings.Contains(req.Body, op.Canary) {
			continue // it may echo the request
		}
		mine, theirs := r.by(op, req), r.by(op, req)
		theirs.who = op.B
		calls = append(calls, mine)
		if op.B != nil {
			calls = append(calls, theirs)
		}
	}
	for _, c := range calls {
		r.keepsSecret(op, first, r.send(c))
	}
	r.need(len(calls) > 0 || op.A != nil, "other request and no principal")
	r.has(op.Canary != "", "${canary} in do")
	r.has(op.B != nil, "second principal")
	if r.has(op.A != nil, "principal") {
		stranger := r.by(op, op.Do)
		stranger.who = nil
		got := r.send(stranger)
		r.judge(op, "stranger", got.Outcome(), first, got)
		r.judgeHidden(op, first, got)
		r.keepsSecret(op, first, got)
	}
}

// keepsSecret judges that an answer shows neither a token nor the text of the first request.
func (r *run) keepsSecret(op *operation, first, got Exchange) {
	outcome := "hidden"
	if contains(got, op.Canary) {
		outcome = "the text of the first request"
	}
	for secret := range r.Secrets {
		if contains(got, secret) {
			outcome = "a token"
		}
	}
	r.judge(op, "secrets", outcome, first, got)
}
