package main

import (
	"slices"
	"strings"
	"testing"
)

func TestCell_IsRedOnlyForProvenHarm(t *testing.T) {
	t.Parallel()
	twice := finding{Rule: "once", Got: "2 effects, not 1", Verdict: "fail", Before: 3, After: 5}
	lost := finding{Rule: "once", Got: "0 effects, not 1", Verdict: "fail", Before: 3, After: 3, Exchanges: []exchange{{}, {Response: "HTTP/1.1 201 Created"}}}
	refused, promised := lost, lost
	refused.Exchanges = []exchange{{Response: "HTTP/1.1 409 Conflict"}}
	promised.Exchanges = []exchange{{Response: "HTTP/1.1 202 Accepted"}}
	status := finding{Rule: "concurrent", Got: "refused 500", Verdict: "fail", Before: 3, After: 4}
	other := finding{Rule: "concurrent other", Got: "ran", Verdict: "fail"}
	replayedOther := finding{Rule: "concurrent other", Got: "replayed", Verdict: "fail"}
	leak := finding{Rule: "scope", Got: "replayed", Verdict: "fail"}
	shown := finding{Rule: "hidden", Got: "shown", Verdict: "fail"}
	hidden := finding{Rule: "hidden", Got: "hidden", Verdict: "pass"}
	scope := finding{Rule: "scope", Got: "refused 409", Verdict: "fail"}
	secret := finding{Rule: "secrets", Got: "the text of the first request", Verdict: "fail"}
	locked := finding{Rule: "killed before", Got: "locked for 45s, longer than patience (45s)", Verdict: "fail"}
	for name, tt := range map[string]struct {
		column  string
		results []result
		want    string
	}{
		"two effects":              {"two at once", []result{failed("B", status, twice), passed("O")}, "✗"},
		"an effect that is gone":   {"crash or failure", []result{failed("I", lost)}, "✗"},
		"a second command":         {"two at once", []result{passed("B"), failed("E", other)}, "✗"},
		"a replay to the same":     {"two at once", []result{passed("B"), failed("E", replayedOther)}, "✓"},
		"another status":           {"two at once", []result{failed("B", status)}, "✓"},
		"a choice":                 {"two at once", []result{{Probe: "B", Verdict: "differs"}}, "✓"},
		"an answer to others":      {"your answer to others", []result{failed("F", leak)}, "✗"},
		"an answer in a refusal":   {"your answer to others", []result{passed("F"), failed("S", shown)}, "✗"},
		"a text shown to others":   {"your answer to others", []result{passed("F"), failed("S", secret)}, "✗"},
		"a refusal to others":      {"your answer to others", []result{failed("F", scope, hidden)}, "✓"},
		"a key that stays locked":  {"stuck after a crash", []result{passed("I"), failed("J", locked)}, "✗"},
		"two effects are no lock":  {"stuck after a crash", []result{failed("I", twice)}, "✓"},
		"an effect that waits":     {"stuck after a crash", []result{failed("J", promised)}, "✗"},
		"a refusal loses nothing":  {"crash or failure", []result{failed("I", refused), failed("J", promised)}, "✓"},
		"a lock is no effect":      {"crash or failure", []result{failed("I", locked)}, "✓"},
		"a consequence":            {"client gone", []result{{Probe: "H", Verdict: "fail", Follows: "C", Findings: []finding{twice}}}, "←C"},
		"a consequence in form":    {"two at once", []result{{Probe: "B", Verdict: "fail", Follows: "A", Findings: []finding{status}}}, "✓"},
		"not promised":             {"crash or failure", []result{failed("M", twice)}, "○"},
		"not promised, and broken": {"crash or failure", []result{failed("M", twice), failed("K", twice)}, "✗"},
		"in part":                  {"crash or failure", []result{{Probe: "I", Verdict: "not applicable"}, passed("K")}, "✓"},
		"not at all":               {"two processes", []result{{Probe: "C", Verdict: "not applicable"}}, "–"},
		"unknown":                  {"two at once", []result{passed("B"), {Probe: "O", Verdict: "cannot tell"}}, "?"},
	} {
		s := &subject{results: tt.results, Unpromised: map[string]string{"M": "It stores nothing."}}
		c := columns[slices.IndexFunc(columns, func(c column) bool { return c.title == tt.column })]
		if got := s.cell(c); got != tt.want {
			t.Errorf("%s: %s is %q, want %q", name, tt.column, got, tt.want)
		}
	}
}

func passed(probe string) result { return result{Probe: probe, Verdict: "pass"} }

func failed(probe string, findings ...finding) result {
	return result{Probe: probe, Verdict: "fail", Findings: findings}
}

func TestSum_CountsSubjectsAndColumns(t *testing.T) {
	t.Parallel()
	twice := finding{Rule: "once", Verdict: "fail", Before: 1, After: 3}
	lost := finding{Rule: "once", Verdict: "fail", Before: 1, After: 1, Exchanges: []exchange{{Response: "HTTP/1.1 201 Created"}}}
	subjects := []*subject{
		{results: []result{failed("B", twice), failed("C", twice), failed("I", lost)}},
		{results: []result{failed("C", twice), failed("I", twice)}},
		{results: []result{failed("K", twice)}, Unpromised: map[string]string{"K": "A failure runs again."}},
		{results: []result{failed("I", lost), {Probe: "H", Verdict: "fail", Follows: "C", Findings: []finding{twice}}}},
	}

	got := groups[0].sum(subjects)

	want := "Of 4 published set-ups, 2 ran a charge twice: 1 with two requests at once, 2 on two processes, 1 after a crash or a failure."
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := groups[0].sum(subjects[3:]); got != "Of 1 published set-ups, 0 ran a charge twice." {
		t.Errorf("of one: %s", got)
	}
}

func TestMoney_ShowsEachGroupUnderItsSentence(t *testing.T) {
	t.Parallel()
	twice := finding{Rule: "once", Verdict: "fail", Before: 1, After: 3}
	page := money([]*subject{
		{id: "a", Name: "a", Version: "v1", Group: "published", Promise: "Once.", Place: "README.md", results: []result{failed("C", twice)}},
		{id: "b", Name: "b", Group: "repository", Promise: "Once.", Place: "README.md", results: []result{passed("C")}},
	})
	order := []string{
		"**Of 1 published set-ups, 1 ran", "| | two at once |", "| [a](#a) v1 |  | ✗ |  |  |  |  | Once. (README.md) |",
		"**Of 1 set-ups of this repository, 0 ran", "| | two at once |", "| [b](#b) |  | ✓ |",
	}
	for _, part := range order {
		_, rest, found := strings.Cut(page, part)
		if !found {
			t.Fatalf("%q is missing, or too early, in: %s", part, page)
		}
		page = rest
	}
}

func TestReport_CountsRunsWithTheHarmOfTheFirst(t *testing.T) {
	t.Parallel()
	twice := `{"results": [{"probe": "C", "verdict": "fail", "findings": [{"rule": "once", "verdict": "fail", "effects_after": 2}]}]}`
	status := `{"results": [{"probe": "C", "verdict": "fail", "findings": [{"rule": "crowd", "got": "refused 500", "verdict": "fail"}]}]}`
	s := &subject{}
	for _, report := range []string{twice, status, twice} {
		if err := s.add([]byte(report)); err != nil {
			t.Fatal(err)
		}
	}

	if s.failed["C"] != 2 || s.asked["C"] != 3 {
		t.Errorf("failed in %d of %d runs, want 2 of 3", s.failed["C"], s.asked["C"])
	}
}

func TestReproduction_ShowsTheFindingThatProvesHarm(t *testing.T) {
	t.Parallel()
	s := &subject{results: []result{failed("C",
		finding{Rule: "crowd", Got: "refused 500", Verdict: "fail"},
		finding{Rule: "once", Got: "2 effects, not 1", Verdict: "fail", Before: 1, After: 3},
	)}}

	if section := s.section(); !strings.Contains(section, "once: 2 effects, not 1") || strings.Contains(section, "crowd") {
		t.Errorf("the section is %s", section)
	}
}
