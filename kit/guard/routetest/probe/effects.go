package probe

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// count returns the number of effects when the counter is quiet: it may lag behind the last
// answer, and what it shows may be as old as the read before.
func (r *run) count(op *operation) int {
	n := r.read(op)
	if r.lag == 0 {
		return n
	}
	r.pause(time.Until(time.Unix(0, r.answered.Load()).Add(r.lag)))
	for began := time.Now(); time.Since(began) < late && r.Err() == nil; r.pause(r.Settle / 10) {
		now := r.read(op)
		if now == n {
			break
		}
		n = now
	}
	return n
}

func (r *run) read(op *operation) int {
	n, err := op.Effects(r)
	if err != nil {
		r.stop(Unreachable, "effects: %v", err)
	}
	return n
}

// effects returns how many effects the operation has had.
func (r *run) effects(op *operation) int {
	op.after = r.count(op)
	return op.after - op.before
}

// awaited returns how many effects the operation has had, and waits for at least some: a
// counter may lag behind.
func (r *run) awaited(op *operation, some int) int {
	for began := time.Now(); r.effects(op) < some && time.Since(began) < late && r.Err() == nil; {
		r.pause(r.Settle / 5)
	}
	return op.after - op.before
}

// seen returns how many effects the operation has had, by a counter that sees effects. It
// stops the probe if the counter does not.
func (r *run) seen(op *operation, some int) int {
	n := r.awaited(op, some)
	if n < some {
		r.counts(op)
	}
	return n
}

// late is how late an effect may be counted.
const late = 5 * time.Second

// once judges that an operation has had one effect.
func (r *run) once(op *operation, exchanges ...Exchange) { r.had(op, 1, exchanges...) }

// had judges that an operation has had a number of effects. One more may come late.
func (r *run) had(op *operation, want int, exchanges ...Exchange) {
	outcome := "the right number of effects"
	n := r.seen(op, want)
	if n == want && !r.settled {
		r.pause(r.Settle)
		n, r.settled = r.effects(op), true
	}
	if n > want {
		r.still(op)
	}
	if n != want {
		outcome = fmt.Sprintf("%s, not %d", effects(n), want)
	}
	r.judge(op, "once", outcome, exchanges...)
}

// ran reports whether an operation has had more effects than before.
func (r *run) ran(op *operation, before int) bool {
	more := r.effects(op) > before
	if more {
		r.still(op)
	}
	return more
}

// still stops a probe if the counter moves though nothing is sent.
func (r *run) still(op *operation) {
	if r.alone {
		return
	}
	r.alone = true
	n := r.effects(op)
	for range 8 {
		r.pause(r.Settle)
		if r.effects(op) != n {
			r.stop(CannotTell, "effects changes while nothing is sent: a run needs the system for itself")
		}
	}
}

// effects returns a number of effects in words.
func effects(n int) string {
	if n == 1 {
		return "1 effect"
	}
	return fmt.Sprintf("%d effects", n)
}

// Check reports why a target cannot be tested: the request that has to succeed does
// not, or the effect cannot be counted. It measures how far the counter lags behind.
func (t *Target) Check(ctx context.Context) error {
	check := Probe{Name: "check", ask: func(r *run) {
		t.lag = t.Settle // until more is known
		op := r.prepare()
		first := r.send(r.by(op, op.Do))
		r.succeeds(first)
		op.response, r.checked = first, op
		answered := time.Now()
		t.lag = 0
		n, waited := r.effects(op), time.Duration(0)
		if n < 1 {
			n, waited = r.awaited(op, 1), time.Since(answered)
		}
		switch {
		case n == 1 && waited > time.Second:
			r.stop(Unreachable, "not supported: the effect came %v after the answer %d, and auth19 counts effects when it has the answer", waited.Round(100*time.Millisecond), first.Status)
		case n != 1:
			r.stop(Unreachable, "a request had %s, not 1: effects needs a number or a list that grows with each effect and counts nothing else. Or a run with seed %d has used the keys", effects(n), r.Seed)
		}
		t.lag = 2 * waited
	}}
	if result := check.Ask(ctx, t); result.Verdict == Unreachable {
		return errors.New(result.Note)
	}
	return nil
}
