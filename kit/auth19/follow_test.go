package main

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

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
