package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/orders/kit/guard/routetest/probe"
)

// Lesson 6: JUnit has one case for each probe, its totals are those of the run, and control
// bytes are escaped.
func TestReport_FormsAgree(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "auth-19", "runs another body")
	dir := t.TempDir()
	forms := map[string]string{"json": filepath.Join(dir, "r.json"), "junit": filepath.Join(dir, "r.xml"), "markdown": filepath.Join(dir, "r.md")}
	args := []string{"run", describe(t, c, "known: [R]"), "A", "D", "I", "R"}
	for form, path := range forms {
		args = append(args, "--"+form, path)
	}
	status, out := command19(t, args...)
	var r report
	var suite junitSuite
	text := map[string][]byte{}
	for form, path := range forms {
		var err error
		if text[form], err = os.ReadFile(path); err != nil {
			t.Fatal(err, out)
		}
	}
	if err := json.Unmarshal(text["json"], &r); err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(text["junit"], &suite); err != nil {
		t.Fatal(err)
	}
	sum := 0
	for n := range maps.Values(r.Totals) {
		sum += n
	}
	if status != broken || sum != 4 || len(r.Results) != 4 || suite.Tests != 4 || len(suite.Cases) != 4 {
		t.Errorf("status %d, %d verdicts, %d results, %d tests, %d cases", status, sum, len(r.Results), suite.Tests, len(suite.Cases))
	}
	if suite.Failures != 1 || suite.Skipped != 2 || suite.Errors != 0 {
		t.Errorf("%d failures, %d skipped, %d errors; want D; I and the known R; none", suite.Failures, suite.Skipped, suite.Errors)
	}
	if n := strings.Count(string(text["markdown"]), "\n| "); n != 5 { // with the head
		t.Errorf("%d rows: %s", n, text["markdown"])
	}
	for form, content := range text {
		if bytes.Contains(content, []byte("token-of")) {
			t.Errorf("%s contains a token", form)
		}
	}
}

// Whose token a request has can be seen, and the token cannot.
func TestShown_NamesThePrincipal(t *testing.T) {
	t.Parallel()
	target := probe.Target{Secrets: map[string]string{"key": "b", "key-2": "a", "of": "c"}}
	got := target.Shown(target.Shown("key-2 key", 100), 100)
	if want := "<token of a> <token of b>"; got != want || cell(got) != "&lt;token of a> &lt;token of b>" {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestSafe_EscapesControlCharactersAndHidesPasswords(t *testing.T) {
	t.Parallel()
	got, want := probe.Safe("a\x00\x1b[1m\xff\u00e9\n\t\uffff postgres://me:p@db/x?a=b@c"), `a\x00\x1b[1m\xff`+"\u00e9\n\t"+`\uffff postgres://<user>@db/x?a=b@c`
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Lesson 7: a divergence that the owner accepts breaks no run, and one that is gone does.
func TestReport_KnownDivergencesAreStrict(t *testing.T) {
	t.Parallel()
	for verdict, want := range map[probe.Verdict][2]int{ // without known, with it
		probe.Pass: {kept, broken}, probe.Fail: {broken, kept}, probe.Differs: {kept, kept},
		probe.NotApplicable: {kept, kept}, probe.CannotTell: {kept, kept}, probe.Unreachable: {unusable, unusable},
	} {
		for i, known := range [][]string{nil, {"A"}} {
			r := newReport(&file{Known: known}, &probe.Target{})
			r.add(probe.Result{Probe: probe.Probes[0], Verdict: verdict})
			if got := r.status(); got != want[i] {
				t.Errorf("%s, known %v: status %d, want %d", verdict, known, got, want[i])
			}
		}
	}
}

// Every rule of a profile has a source and is asked by a probe, and explain shows it.
func TestProfiles_HaveASourceForEachRule(t *testing.T) {
	t.Parallel()
	asked := map[string]bool{}
	for _, p := range probe.Probes {
		for _, rule := range p.Rules {
			asked[rule] = true
		}
	}
	for name, profile := range profiles {
		status, out := command19(t, "explain", "--profile", name)
		for rule, r := range profile.Rules {
			if !asked[rule] || r.Says == "" || r.Where == "" || len(r.Want) == 0 {
				t.Errorf("%s: %s: asked = %v, %+v", name, rule, asked[rule], r)
			}
			if status != kept || !strings.Contains(out, r.Says) {
				t.Errorf("explain does not show %s: %s", name, r.Says)
			}
		}
	}
	if len(profiles) != 7 || len(slices.Compact(slices.Sorted(maps.Keys(profiles)))) != 7 {
		t.Errorf("%d profiles", len(profiles))
	}
}
