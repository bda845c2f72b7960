package probe

import (
	"maps"
	"strings"
)

func otherPrincipal(r *run) {
	op := r.prepare()
	r.need(op.B != nil, "second principal")
	first := r.first(op, r.by(op, op.Do))
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
		theirs.keys = []string{r.Profile.Written(NewKey(r.Seed, op.key))}
		if again := r.send(theirs); again.Status == got.Status {
			r.stop(NotApplicable, "the second principal's request was %s, under another key as well", got.Outcome())
		}
	case r.marked(got), r.shows(op, first, got):
		outcome = "replayed"
	case first.location() == got.location() && (r.equal(got, first) || r.equal(got, r.send(r.by(op, op.Do)))):
		if !r.names(op, first) && !r.sees(op, got) {
			r.unknown(op, "scope", "each operation gets this answer, and effects does not show to a what b did", first, got)
			return
		}
		outcome = "replayed"
	case r.sees(op, got):
		outcome = "accepted, with no effect"
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
	r.need(op.A != nil, "principal")
	first := r.first(op, r.by(op, op.Do))
	for _, req := range append(op.Others, op.Routes...) {
		if op.Canary != "" && strings.Contains(req.Body, op.Canary) {
			continue // it may echo the request
		}
		c := r.by(op, req)
		r.keepsSecret(op, "a", first, r.send(c))
		if c.who = op.B; op.B != nil {
			r.keepsSecret(op, "b", first, r.send(c))
		}
	}
	r.has(op.Canary != "", "${canary} in do")
	r.has(op.B != nil, "second principal")
	stranger := r.by(op, op.Do)
	stranger.who = nil
	got := r.send(stranger)
	r.judge(op, "stranger", got.Outcome(), first, got)
	r.judgeHidden(op, first, got)
	r.keepsSecret(op, "", first, got)
}

// keepsSecret judges that an answer shows no token, and to principals other than a not the
// text of the first request, which a knows. The cookie of a principal is set again.
func (r *run) keepsSecret(op *operation, who string, first, got Exchange) {
	outcome := "hidden"
	if who != "a" && contains(got, op.Canary) {
		outcome = "the text of the first request"
	}
	for secret, owner := range r.Secrets {
		seen := got
		if owner == who {
			seen.Header = maps.Clone(got.Header)
			seen.Header.Del("Set-Cookie")
		}
		if len(secret) >= shortest && contains(seen, secret) {
			outcome = "a token"
		}
	}
	r.judge(op, "secrets", outcome, first, got)
}

// shortest is the length of the shortest token: a shorter text may be a name, or a chance.
const shortest = 8
