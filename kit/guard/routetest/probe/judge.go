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
	// Bytes: a replay has the bytes of the first response. Otherwise, equal JSON is equal.
	Bytes bool
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

// Written returns a key as the profile writes it.
func (p Profile) Written(key string) string {
	if p.Quoted {
		return `"` + key + `"`
	}
	return key
}

// run is a probe in progress.
type run struct {
	context.Context //nolint:containedctx // a run lives as long as the context

	*Target

	probe    Probe
	keys     int
	extra    int
	settled  bool            // it has waited for an effect that comes late
	alone    bool            // nobody else moves the counter
	volatile map[string]bool // members that change with each answer; nil until learned
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
	response      Exchange // of the check
}

// under returns a new operation with a key.
func (r *run) under(key string) *operation {
	made, err := r.Prepare(r, key)
	if err != nil {
		r.stop(Unreachable, "%v", err)
	}
	return &operation{Operation: made, key: key}
}

// prepare returns a new operation.
func (r *run) prepare() *operation {
	r.keys++
	op := r.under(NewKey(r.Seed, r.probe.Name, r.keys))
	op.before = r.count(op)
	op.after = op.before
	return op
}
