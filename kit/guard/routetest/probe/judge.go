// Package probe asks a server, over HTTP and as a black box, whether it keeps the
// idempotency promise. Each probe sends requests as a client, a race, a lost connection
// or a crash would, counts effects by reading them back, and compares the outcome with
// the rules of a profile.
//
// A failed probe is a proof; passed probes are not.
package probe

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Verdict is the result of a probe.
type Verdict string

// The verdicts.
const (
	Pass Verdict = "pass"
	// Fail breaks a rule of the profile.
	Fail Verdict = "fail"
	// CannotTell is no pass either: the server may keep the rule or not, and the note names the
	// member that would let the probe tell.
	CannotTell Verdict = "cannot tell"
	// Differs breaks a rule in a way that a different profile chose.
	Differs Verdict = "differs"
	// NotApplicable is never a pass: something was missing.
	NotApplicable Verdict = "not applicable"
	// Unreachable: a request that had to be answered, or a command that had to succeed, did not.
	Unreachable Verdict = "unreachable"
)

// Verdicts lists all verdicts, the best first.
var Verdicts = []Verdict{Pass, NotApplicable, CannotTell, Differs, Unreachable, Fail}

// Rule is the demand of a profile in one respect.
type Rule struct {
	// Want lists outcomes. Each stands for all that begin with it.
	Want []string
	// Must: no choice of a profile excuses a different outcome.
	Must bool
	// Says is the demand of the source, in our words, and Where the place.
	Says, Where string
}

// Profile is a table of rules.
type Profile struct {
	Name, Title string
	// Header is the name of the key header. Keys are sent in quotes if Quoted.
	Header string
	Quoted bool
	// Marker is the header, with the value, that marks a replay.
	Marker [2]string
	// Rules by name. A profile may have no rule about something.
	Rules map[string]Rule
	// Elsewhere reports whether a different profile wants an outcome. It may be nil.
	Elsewhere func(rule, outcome string) bool
}

// Wanted returns the outcomes that a rule wants, in words.
func (r Rule) Wanted() string {
	class := regexp.MustCompile(`\b([245])(,|$)`)
	return class.ReplaceAllString(strings.Join(r.Want, ", or "), "${1}xx$2")
}

// wants reports whether an outcome is one of those that a rule wants.
func (r Rule) wants(outcome string) bool {
	return slices.ContainsFunc(r.Want, func(want string) bool { return strings.HasPrefix(outcome, want) })
}

// Wants reports whether a profile has a rule that wants an outcome.
func (p Profile) Wants(rule, outcome string) bool { return p.Rules[rule].wants(outcome) }

func (p Profile) judge(rule, outcome string) Verdict {
	r := p.Rules[rule]
	switch {
	case r.wants(outcome):
		return Pass
	case !r.Must && p.Elsewhere != nil && p.Elsewhere(rule, outcome):
		return Differs
	}
	return Fail
}

// Finding is the outcome of a probe in one respect.
type Finding struct {
	Rule      string
	Got       string
	Verdict   Verdict
	Before    int // effects before the first request
	After     int
	Exchanges []Exchange
}

// Result is the verdict of a probe, and why.
type Result struct {
	Probe    Probe
	Verdict  Verdict
	Note     string
	Findings []Finding
	Took     time.Duration
}

// Probe is one question.
type Probe struct {
	Name string // a letter
	// Level is 1 for one request after another, 2 for two at once, 3 for many, 4 for
	// crashes and 5 for other principals.
	Level int
	// Title names the behaviour that the probe expects. Sends describes the requests.
	Title, Sends string
	// Rules are the rules that it judges by.
	Rules []string

	ask func(*run)
}

// run is a probe in progress.
type run struct {
	context.Context //nolint:containedctx // a run lives as long as the context

	*Target

	probe    Probe
	keys     int
	extra    int
	settled  bool // it has waited for an effect that comes late
	findings []Finding
	notes    []string
}

// stop ends a probe early, as t.Fatal ends a test.
type stop struct {
	verdict Verdict
	why     string
}

func (*run) stop(verdict Verdict, format string, args ...any) {
	panic(stop{verdict, fmt.Sprintf(format, args...)})
}

// Ask asks a server one question.
func (p Probe) Ask(ctx context.Context, t *Target) (result Result) {
	r := &run{Context: ctx, Target: t, probe: p}
	began := time.Now()
	defer func() {
		stopped := recover()
		end, ours := stopped.(stop)
		if stopped != nil && !ours {
			panic(stopped)
		}
		if ours {
			r.notef("%s", end.why)
		}
		result = Result{Probe: p, Verdict: r.worst(end.verdict), Note: strings.Join(r.notes, "; "), Findings: r.findings, Took: time.Since(began)}
	}()
	p.ask(r)
	return result
}

// worst returns the worst verdict of the findings and of the end.
func (r *run) worst(end Verdict) Verdict {
	if end == "" && len(r.findings) == 0 {
		end = NotApplicable
	}
	worst := slices.Index(Verdicts, end)
	for _, f := range r.findings {
		worst = max(worst, slices.Index(Verdicts, f.Verdict))
	}
	return Verdicts[max(worst, 0)]
}

// judge adds a finding, if the profile has the rule.
func (r *run) judge(op *operation, rule, outcome string, exchanges ...Exchange) {
	if _, stated := r.Profile.Rules[rule]; stated {
		f := Finding{Rule: rule, Got: r.shown(outcome), Verdict: r.Profile.judge(rule, outcome), Before: op.before, After: op.after, Exchanges: exchanges}
		r.findings = append(r.findings, f)
	}
}

// unknown adds a finding that proves nothing.
func (r *run) unknown(op *operation, rule, why string, exchanges ...Exchange) {
	r.findings = append(r.findings, Finding{Rule: rule, Got: "cannot tell: " + why, Verdict: CannotTell, Before: op.before, After: op.after, Exchanges: exchanges})
}

func (r *run) states(rule string) bool {
	_, stated := r.Profile.Rules[rule]
	return stated
}

func (r *run) notef(format string, args ...any) {
	r.notes = append(r.notes, r.shown(fmt.Sprintf(format, args...)))
}

func (r *run) progressf(format string, args ...any) {
	if r.Progress != nil {
		r.Progress(fmt.Sprintf(format, args...))
	}
}

// NewKey returns a key in the form of a UUID, the same for the same words.
func NewKey(seed uint64, words ...any) string {
	sum := sha256.Sum256(fmt.Append(nil, seed, words))
	sum[6], sum[8] = sum[6]&0x0f|0x40, sum[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// operation is an operation with key and effects.
type operation struct {
	*Operation

	key           string
	before, after int
}

// prepare returns a new operation.
func (r *run) prepare() *operation {
	r.keys++
	key := NewKey(r.Seed, r.probe.Name, r.keys)
	made, err := r.Prepare(r, key)
	if err != nil {
		r.stop(Unreachable, "%v", err)
	}
	op := &operation{Operation: made, key: key}
	op.before = r.count(op)
	op.after = op.before
	return op
}

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
	if n != want {
		outcome = fmt.Sprintf("%s, not %d", effects(n), want)
	}
	r.judge(op, "once", outcome, exchanges...)
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
