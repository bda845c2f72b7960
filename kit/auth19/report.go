package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"example.com/orders/kit/guard/routetest/probe"
)

// report is a run. The JSON is the source of the other forms.
type report struct {
	Profile string         `json:"profile"`
	Servers []string       `json:"servers"`
	Seed    uint64         `json:"seed"`
	Started time.Time      `json:"started"`
	Totals  map[string]int `json:"totals"`
	Causes  []cause        `json:"causes"`
	Results []result       `json:"results"`

	known  []string
	target *probe.Target
}

// result is the verdict of one probe.
type result struct {
	Probe   string `json:"probe"`
	Level   string `json:"level"`
	Title   string `json:"title"`
	Verdict string `json:"verdict"`
	Note    string `json:"note,omitempty"`
	// Known: the owner accepts that this probe fails. A known probe that passes breaks the run.
	Known bool `json:"known,omitempty"`
	// Follows is the earlier probe whose failure explains this one.
	Follows  string    `json:"follows,omitempty"`
	Findings []finding `json:"findings"`
	Seconds  float64   `json:"seconds"`
}

// finding is the outcome of a probe by one rule. Exchanges are kept where it did not pass.
type finding struct {
	Rule      string     `json:"rule"`
	Got       string     `json:"got"`
	Want      string     `json:"want"`
	Verdict   string     `json:"verdict"`
	Says      string     `json:"says"`
	Source    string     `json:"source"`
	Before    int        `json:"effects_before"`
	After     int        `json:"effects_after"`
	Exchanges []exchange `json:"exchanges,omitempty"`
}

// exchange is a request as curl would send it, and the response.
type exchange struct {
	Curl     string `json:"curl"`
	Response string `json:"response"`
}

func newReport(f *file, t *probe.Target) *report {
	totals := map[string]int{}
	for _, v := range probe.Verdicts {
		totals[string(v)] = 0
	}
	return &report{
		Profile: f.Profile, Servers: f.Servers, Seed: t.Seed, Started: time.Now().UTC().Truncate(time.Second), Totals: totals,
		Causes: []cause{}, known: f.Known, target: t,
	}
}

func (r *report) add(got probe.Result) {
	made := result{
		Probe: got.Probe.Name, Level: fmt.Sprintf("L%d", got.Probe.Level), Title: got.Probe.Title, Verdict: string(got.Verdict),
		Note: got.Note, Known: slices.Contains(r.known, got.Probe.Name), Seconds: got.Took.Seconds(),
	}
	for _, f := range got.Findings {
		rule := r.target.Profile.Rules[f.Rule]
		shown := finding{
			Rule: f.Rule, Got: f.Got, Want: rule.Wanted(), Verdict: string(f.Verdict),
			Says: rule.Says, Source: rule.Where, Before: f.Before, After: f.After,
		}
		if f.Verdict != probe.Pass {
			for _, e := range f.Exchanges {
				shown.Exchanges = append(shown.Exchanges, exchange{r.shown(e.Curl()), r.shown(e.Response())})
			}
		}
		made.Findings = append(made.Findings, shown)
	}
	if made.Follows = r.cause(made); made.Follows == "" {
		r.Totals[made.Verdict]++
	} else {
		r.Totals["follows"]++
	}
	r.explain(made)
	r.Results = append(r.Results, made)
}

func (r *report) shown(text string) string { return r.target.Shown(text, probe.Evidence) }

// broke reports whether a result breaks the run: a failure that nobody accepts, or an
// accepted one that is gone.
func (r result) broke() bool {
	return r.red() && !r.Known || r.Verdict == string(probe.Pass) && r.Known
}

// red reports whether a result is a failure that follows from no other one.
func (r result) red() bool { return r.Verdict == string(probe.Fail) && r.Follows == "" }

func (r *report) status() int {
	switch {
	case slices.ContainsFunc(r.Results, result.broke):
		return broken
	case r.Totals[string(probe.Unreachable)] > 0:
		return unusable
	}
	return kept
}

// row returns a result as a line of the table.
func (r result) row() string {
	return strings.TrimRight(fmt.Sprintf("%s  %s  %-52s %-15s %s", r.Probe, r.Level, r.Title, r.verdict(), r.reason()), " ")
}

// verdict returns the verdict for a reader.
func (r result) verdict() string {
	switch {
	case r.Known && r.broke():
		return "passes, but is known to fail: take it out of known"
	case r.Follows != "":
		return "follows from " + r.Follows
	case r.Known:
		return r.Verdict + " (known)"
	}
	return r.Verdict
}

// reason returns what decided, and the note.
func (r result) reason() string {
	worst := r.worst()
	switch {
	case worst.Verdict == string(probe.Pass):
		return r.Note
	case r.Note == "":
		return worst.Rule + ": " + worst.Got
	}
	return worst.Rule + ": " + worst.Got + "; " + r.Note
}

// worst returns the finding that decides.
func (r result) worst() finding {
	for _, f := range r.Findings {
		if f.Verdict == r.Verdict {
			return f
		}
	}
	return finding{Verdict: string(probe.Pass)}
}

// sum returns the totals in words.
func (r *report) sum() string {
	var parts []string
	for _, v := range probe.Verdicts {
		if n := r.Totals[string(v)]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, v))
		}
	}
	if n := r.Totals["follows"]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d following from a failure", n))
	}
	return fmt.Sprintf("%d probes: %s", len(r.Results), strings.Join(parts, ", "))
}

// printEnd prints the causes, each failure with evidence, and the totals.
func (r *report) printEnd(out io.Writer) {
	if causes := r.causesAs("  "); causes != "" {
		say(out, "\nCauses:\n%s", causes)
	}
	for _, got := range r.Results {
		if got.red() {
			say(out, "\n%s  %s\n", got.Probe, got.Title)
			say(out, "%s\n", indented(got.evidence()))
		}
	}
	say(out, "\n%s (seed %d)\nPassing every probe proves nothing; failing one proves something.\n", r.sum(), r.Seed)
}

func indented(text string) string { return "   " + strings.ReplaceAll(text, "\n", "\n   ") }

func (f finding) line() string {
	return fmt.Sprintf("%s: %s; wanted: %s. Effects before: %d, after: %d.", f.Rule, f.Got, f.Want, f.Before, f.After)
}

// evidence returns requests, responses, and the sentence that asks for something else:
// once for each rule.
func (r result) evidence() string {
	var parts []string
	seen := map[string]bool{}
	for _, f := range r.Findings {
		if f.Verdict != string(probe.Fail) || seen[f.Rule] {
			continue
		}
		seen[f.Rule] = true
		parts = append(parts, fmt.Sprintf("%s\n%s (%s)", f.line(), f.Says, f.Source))
		for _, e := range f.Exchanges {
			parts = append(parts, "$ "+e.Curl+"\n"+e.Response)
		}
	}
	return strings.Join(parts, "\n\n")
}

// save writes the forms that are asked for.
func (r *report) save(files map[string]*string) error {
	var failed error
	for form, render := range map[string]func(*report) ([]byte, error){"json": (*report).json, "junit": (*report).junit, "markdown": (*report).markdown} {
		if path := *files[form]; path != "" {
			text, err := render(r)
			failed = errors.Join(failed, err, os.WriteFile(path, text, 0o644))
		}
	}
	return failed
}

func (r *report) json() ([]byte, error) {
	text, err := json.MarshalIndent(r, "", "  ")
	return append(text, '\n'), err
}
