package probe

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// by returns the call of principal A to the first process, with the key of the operation.
func (r *run) by(op *operation, req Request) call {
	return call{Request: req, server: r.Servers[0], who: op.A, header: r.Header, keys: []string{r.Profile.Written(op.key)}, timeout: r.Timeout, answered: &r.answered}
}

// elsewhere returns the same call to the other process, if there is one.
func (r *run) elsewhere(c call) call {
	c.server = r.Servers[len(r.Servers)-1]
	return c
}

// caught returns a request that a trap catches.
func caught(req Request, trap Trap) Request {
	headers := http.Header{}
	maps.Copy(headers, req.Header)
	maps.Copy(headers, trap.Header)
	req.Header = headers
	return req
}

// try sends a call, which may remain unanswered, and waits where the server limits the rate.
func (r *run) try(c call) Exchange {
	c.timeout = r.Timeout
	ctx, cancel := context.WithTimeout(r, r.Patience)
	defer cancel()
	return unlimited(ctx, func() Exchange { return exchange(r, c) })
}

// send sends a call that must be answered.
func (r *run) send(c call) Exchange {
	got := r.try(c)
	if got.Status == 0 {
		r.stop(Unreachable, "%s %s: no answer: %v", c.Method, c.Path, got.Err)
	}
	return got
}

// first sends a call that must succeed as the first one with the key, and gives the
// server time to store the response. Probe O gives it no time.
func (r *run) first(op *operation, c call) Exchange {
	got := r.send(c)
	r.succeeds(got)
	r.pause(r.Settle)
	r.seen(op, 1)
	return got
}

// succeeds stops a probe unless the first request with a key succeeded.
func (r *run) succeeds(got Exchange) {
	if !got.succeeded() {
		r.stop(Unreachable, "the first request, %s %s, was %s; an answer 2xx was expected: %s", got.Request.Method, got.Request.Path, got.Outcome(), got.Body)
	}
	r.usual = got.Status
}

// later reports whether the client was told to come back.
func (r *run) later(e Exchange) bool {
	accepted := e.Status == http.StatusAccepted && r.usual != 0 && r.usual != e.Status
	allowed := e.Header.Get("Retry-After") != "" && r.Profile.Wants("concurrent", e.Outcome())
	return accepted || allowed || slices.Contains([]int{409, 423, 425, 429, 503}, e.Status)
}

// retry repeats a call while the answer is to come back, as long as a key may stay locked. It
// returns the last answer, and for how long it was refused.
func (r *run) retry(c call) (Exchange, time.Duration) {
	began := time.Now()
	for {
		got := r.try(c)
		waited := time.Since(began)
		answered := got.Status != 0 && !r.later(got) && !got.starting()
		if answered || waited > r.Patience || r.Err() != nil {
			return got, waited
		}
		r.pause(min(r.Patience/20, 100*time.Millisecond))
	}
}

func (r *run) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-r.Done():
	}
}

// await repeats a check until it holds.
func (r *run) await(what string, holds func() bool) {
	for began := time.Now(); !holds(); r.pause(10 * time.Millisecond) {
		if time.Since(began) > r.Timeout || r.Err() != nil {
			r.stop(Unreachable, "%s did not happen within %v", what, r.Timeout)
		}
	}
}

// need stops a probe if the hook is missing.
func (r *run) need(there bool, hook string) {
	if !there {
		r.stop(NotApplicable, "there is no %s", hook)
	}
}

// has reports whether a hook is there, and notes the part of the probe that is skipped
// otherwise.
func (r *run) has(there bool, hook string) bool {
	if !there {
		r.notef("not asked: there is no %s", hook)
	}
	return there
}

// command runs a hook of the target.
func (r *run) command(name string, hook func(context.Context) error) {
	if hook == nil {
		return
	}
	if err := hook(r); err != nil {
		r.stop(Unreachable, "%s: %v", name, err)
	}
}

// held is a command that a trap keeps in the handler.
type held struct {
	reply   <-chan Exchange
	hangUp  func()
	release func()
}

// hold sends a call, and returns when the trap has caught it.
func (r *run) hold(set setter, c call) held {
	trap := r.set(set)
	c.Request = caught(c.Request, trap)
	ctx, hangUp := context.WithCancel(r)
	reply, answered := make(chan Exchange, 1), make(chan struct{})
	go func() {
		defer close(answered)
		reply <- exchange(ctx, c)
	}()
	h := held{reply: reply, hangUp: hangUp, release: sync.OnceFunc(func() { r.command("release", trap.Undo) })}
	if trap.Await == nil {
		r.pause(r.Settle)
	} else if err := r.awaitHeld(trap, answered); err != nil {
		h.release()
		got := <-reply
		r.stop(map[bool]Verdict{true: NotApplicable, false: Unreachable}[got.limited()], "the command was not held, but %s: %v", got.Outcome(), err)
	}
	return h
}

// awaitHeld waits until a trap has caught a command, or all are answered.
func (r *run) awaitHeld(trap Trap, answered <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(r, r.Timeout)
	defer cancel()
	go func() {
		<-answered
		cancel()
	}()
	return trap.Await(ctx)
}

func (r *run) set(set setter) Trap {
	trap, err := set(r)
	if err != nil {
		r.stop(Unreachable, "hold or fail: %v", err)
	}
	return trap
}

func inBackground(ctx context.Context, c call) <-chan Exchange {
	reply := make(chan Exchange, 1)
	go func() { reply <- exchange(ctx, c) }()
	return reply
}

// meet sends a second call while the first one runs, and returns both. If there is no
// trap, it races them, with new keys, until they have met.
func (r *run) meet(second func(*operation) call) (op *operation, first, other Exchange) {
	op = r.prepare()
	if op.HoldBefore == nil {
		return r.race(op, second)
	}
	h := r.hold(op.HoldBefore, r.by(op, op.Do))
	defer h.release()
	replies := inBackground(r, second(op))
	select {
	case other = <-replies: // it was told to come back
		h.release()
	case <-time.After(r.Settle): // it waits
		h.release()
		other = <-replies
	}
	first = <-h.reply
	if !met([]Exchange{first, other}) {
		r.stop(NotApplicable, "no two requests met: the first one was answered before")
	}
	return op, first, other
}

func (r *run) race(op *operation, second func(*operation) call) (*operation, Exchange, Exchange) {
	for i := range 20 {
		both, err := together(r, []call{r.by(op, op.Do), second(op)})
		if err != nil {
			r.stop(Unreachable, "%v", err)
		}
		if met(both) && !both[0].overloaded() && !both[1].overloaded() {
			if both[1].succeeded() && !both[0].succeeded() {
				slices.Reverse(both)
			}
			r.notef("a race without hold, that met at try %d", i+1)
			return op, both[0], both[1]
		}
		op = r.prepare()
	}
	r.stop(NotApplicable, "no two requests met")
	return nil, Exchange{}, Exchange{}
}

// isReplay reports whether an answer that succeeded carries the marker of the profile.
func (r *run) marked(e Exchange) bool {
	name, value := r.Profile.Marker[0], r.Profile.Marker[1]
	return name != "" && strings.EqualFold(e.Header.Get(name), value)
}

// compared returns how an answer relates to the first one.
func (r *run) compared(got, first Exchange) string {
	switch {
	case r.equal(got, first):
		return "replayed"
	case r.foreign(got, first):
		return "the response to another request"
	case got.Status == first.Status:
		return "another body"
	case got.succeeded():
		return fmt.Sprintf("status %d", got.Status)
	}
	return got.Outcome()
}

// replays judges a retry at each process.
func (r *run) replays(op *operation, c call, first Exchange) {
	for range r.Servers {
		got := r.send(c)
		r.judge(op, "replay", r.compared(got, first), first, got)
		c = r.elsewhere(c)
	}
}

// judgeOther judges the answer to a different request under the key of an operation.
func (r *run) judgeOther(op *operation, rule string, first, got Exchange) {
	before := op.after - op.before
	outcome := got.Outcome()
	switch {
	case r.ran(op, before):
		outcome = "ran"
	case got.succeeded():
		outcome = r.accepted(op, first, got)
	}
	if outcome == "accepted" && r.Profile.Wants(rule, "ran") {
		r.unknown(op, rule, "each operation gets this answer, and effects does not count that of this request", first, got)
		return
	}
	r.judge(op, rule, outcome, first, got)
	if !got.succeeded() {
		r.judgeHidden(op, first, got)
	}
}

// judgeHidden judges that a refusal hides the first response.
func (r *run) judgeHidden(op *operation, first, got Exchange) {
	r.judge(op, "hidden", map[bool]string{true: "shown", false: "hidden"}[r.shows(op, first, got)], first, got)
}

// contains reports whether a text is in the body or the headers of a response.
func contains(e Exchange, text string) bool {
	if text == "" {
		return false
	}
	return bytes.Contains(e.Body, []byte(text)) || strings.Contains(fmt.Sprint(e.Header), text)
}

// ownHeaders belong to each response, and not to the stored one: names, and parts of names.
var ownHeaders = []string{
	"Date", "Age", "Expires", "Connection", "Keep-Alive", "Content-Length", "Transfer-Encoding", "Server-Timing", "Traceparent",
	"Request-Id", "Idempot", "Ratelimit", "Rate-Limit", "Response-Time", "Runtime",
}

// sameHeaders compares the headers that two responses should have in common, except those
// that change from answer to answer.
func sameHeaders(a, b Exchange, changing []string) string {
	for _, name := range slices.Sorted(maps.Keys(union(a.Header, b.Header))) {
		own := slices.ContainsFunc(ownHeaders, func(part string) bool { return strings.Contains(name, part) })
		if !own && !slices.Contains(changing, name) && !slices.Equal(a.Header[name], b.Header[name]) {
			return fmt.Sprintf("another %s: %s, not %s", name, b.Header[name], a.Header[name])
		}
	}
	return "the same"
}

func union(a, b http.Header) http.Header {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}
