package main

import (
	"cmp"
	"encoding/json"
	"encoding/xml"
	"errors"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/orders/kit/guard/routetest/probe"
)

// One cause is one failure: the failures that follow from it say so, and do not count.
func TestRun_CountsACauseOnce(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string]string{
		"claims no key":                 "B: C E H",
		"claims keys in its process":    "C: H",
		"replays to another body":       "D: E R",
		"shows the first response":      "D: E G R",
		"saves in a second transaction": "K:",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			path := describe(t, newCluster(t, "auth-19", fault), "")
			file := filepath.Join(t.TempDir(), "json")

			status, out := command19(t, "run", path, "--json", file, "--junit", file+".xml")

			cause, followers, _ := strings.Cut(want, ":")
			for name := range strings.FieldsSeq(followers) {
				if !regexp.MustCompile(`(?m)^` + name + ` .* follows from ` + cause + ` `).MatchString(out) {
					t.Errorf("%s does not follow from %s", name, cause)
				}
			}
			var r report
			if err := json.Unmarshal([]byte(mustRead(t, file)), &r); err != nil {
				t.Fatal(err)
			}
			n := len(strings.Fields(followers))
			if status != broken || r.Totals["fail"] != 1 || r.Totals["follows"] != n || strings.Count(mustRead(t, file+".xml"), "<failure ") != 1 {
				t.Errorf("status %d, totals %v, want 1 failure and %d that follow: %s", status, r.Totals, n, out)
			}
		})
	}
}

func TestRun_CountsAFailureWithASecondCause(t *testing.T) {
	t.Parallel()
	failed := func(name string, rules ...string) probe.Result {
		got := probe.Result{Probe: probe.Probe{Name: name}, Verdict: probe.Fail}
		for _, rule := range rules {
			got.Findings = append(got.Findings, probe.Finding{Rule: rule, Verdict: probe.Fail})
		}
		return got
	}
	r := newReport(&file{}, &probe.Target{})
	r.add(failed("B", "once"))

	r.add(failed("C", "crowd", "once"))
	r.add(failed("H", "hidden", "once"))

	if got := r.Results[1].Follows + r.Results[2].Follows; got != "B" || r.Totals["fail"] != 2 {
		t.Errorf("follows = %q, totals %v", got, r.Totals)
	}
}

func TestRun_NamesTheCauseOfEachFailure(t *testing.T) {
	t.Parallel()
	hashesTheTime := &modest{status: http.StatusCreated, send: reply, request: func(body string) string { return body + time.Now().String() }}
	for cause, c := range map[string]struct{ path, followers string }{
		"A": {hashesTheTime.open(t, "principals: {a: {Authorization: Bearer token-of-a}, b: {Authorization: Bearer token-of-b}}"), "D O F"},
		"F": {(&unusual{}).open(t), "S"},
	} {
		t.Run(cause, func(t *testing.T) {
			t.Parallel()
			_, out := command19(t, append([]string{"run", c.path, cause}, strings.Fields(c.followers)...)...)
			for name := range strings.FieldsSeq(c.followers) {
				if !regexp.MustCompile(`(?m)^` + name + ` .* follows from ` + cause + ` `).MatchString(out) {
					t.Errorf("%s does not follow from %s: %s", name, cause, out)
				}
			}
		})
	}
}

// decided is a run of each kind of cause: D explains E, known failures are marked, A is known
// to fail and passes, and the request of G was not answered.
func decided() *report {
	target := &probe.Target{Profile: profiles["auth-19"]}
	r := newReport(&file{Known: []string{"A", "K"}}, target)
	failed := func(rule, got string, before, after int) []probe.Finding {
		return []probe.Finding{{Rule: rule, Got: got, Verdict: probe.Fail, Before: before, After: after}}
	}
	for _, p := range probe.Probes {
		got := probe.Result{Probe: p, Verdict: probe.Fail}
		switch p.Name {
		case "A":
			got.Verdict = probe.Pass
		case "D":
			got.Findings = failed("mismatch", "replayed", 3, 4)
		case "G":
			got.Verdict, got.Note = probe.Unreachable, "POST /x: 404"
		case "K":
			got.Findings = failed("rollback", "another key", 7, 7)
		case "E":
			got.Findings = failed("concurrent other", "ran", 8, 10)
		default:
			continue
		}
		r.add(got)
	}
	return r
}

var decidedBy = []string{
	"A: passes, but is known to fail: take it out of known",
	"D, and from it E: expected that another request with the key is refused; mismatch: replayed; wanted: refused 409. Effects before: 3, after: 4.",
	"G: unreachable: POST /x: 404",
	"K (known): expected that a failed command keeps nothing; rollback: another key; wanted: 0 effects. Effects before: 7, after: 7.",
}

// A reader sees first which failures count, and which follow from them.
func TestReport_BeginsWithTheCauses(t *testing.T) {
	t.Parallel()
	r := decided()

	var printed strings.Builder
	r.printEnd(&printed)
	markdown, err := r.markdown()
	if err != nil {
		t.Fatal(err)
	}

	if want := "\nCauses:\n  " + strings.Join(decidedBy, "\n  ") + "\n\nD  another request"; !strings.HasPrefix(printed.String(), want) {
		t.Errorf("printed %s, want %s", printed.String(), want)
	}
	_, text, _ := strings.Cut(string(markdown), "\n\n")
	if want := "## Causes\n\n- " + strings.Join(decidedBy, "\n- ") + "\n\n5 probes: 1 pass, 1 unreachable, 2 fail, 1 following from a failure. "; !strings.HasPrefix(text, want) {
		t.Errorf("Markdown is %s, want %s", text, want)
	}
	if empty := newReport(&file{}, &probe.Target{}); strings.Contains(empty.causesAs("- "), "-") {
		t.Error("a run with no failure has causes")
	}
}

func TestReport_BeginsWithTheCausesForMachines(t *testing.T) {
	t.Parallel()
	r := decided()

	text, err1 := r.json()
	junit, err2 := r.junit()

	var read report
	var suite junitSuite
	if err := errors.Join(err1, err2, json.Unmarshal(text, &read), xml.Unmarshal(junit, &suite)); err != nil {
		t.Fatal(err)
	}
	var causes, first []string
	for _, c := range read.Causes {
		causes = append(causes, c.Probe+strings.Join(c.Followers, ""))
	}
	if !slices.Equal(causes, []string{"A", "DE", "G", "K"}) || strings.Index(string(text), `"causes"`) > strings.Index(string(text), `"results"`) {
		t.Errorf("JSON has the causes %q: %s", causes, text)
	}
	for i, c := range suite.Cases {
		first = append(first, c.Name[:1])
		if message := cmp.Or(c.Failure, c.Error, c.Skipped).Message; i < len(decidedBy) && message != decidedBy[i] {
			t.Errorf("case %d says %q, want %q", i, message, decidedBy[i])
		}
	}
	if !slices.Equal(first, []string{"A", "D", "G", "K", "E"}) || suite.Failures != 2 || suite.Errors != 1 || suite.Skipped != 2 {
		t.Errorf("JUnit has the cases %q, %d failures, %d errors, %d skipped", first, suite.Failures, suite.Errors, suite.Skipped)
	}
}
