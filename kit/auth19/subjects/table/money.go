package main

import (
	"fmt"
	"slices"
	"strings"
)

// column is a question of the first table. A cell is red only where a finding proves harm: a
// choice of status costs nobody money.
type column struct {
	title  string
	probes string   // their names
	harms  []string // of findings
	when   string   // a charge ran twice
}

var columns = []column{
	{"two at once", "BEO", onEffect, "with two requests at once"},
	{"two processes", "C", onEffect, "on two processes"},
	{"client gone", "H", onEffect, "after its client had gone"},
	{"crash or failure", "KIJM", onEffect, "after a crash or a failure"},
	{"your answer to others", "FS", []string{"shown"}, ""},
	{"stuck after a crash", "IJ", []string{"stuck"}, ""},
}

var onEffect = []string{"twice", "lost"}

// harm returns what a finding proves, or "".
func (f finding) harm() string {
	effects := f.After - f.Before
	switch {
	case f.Verdict != "fail":
		return ""
	case f.Rule == "once" && effects > 1, f.Rule == "concurrent other" && f.Got == "ran":
		return "twice"
	case f.Rule == "once" && effects < 1 && f.told():
		return "lost"
	case f.Rule == "once" && effects < 1, strings.HasPrefix(f.Got, "locked"):
		return "stuck"
	case f.Rule == "scope" && strings.HasPrefix(f.Got, "replayed"), f.Rule == "hidden", f.Rule == "secrets":
		return "shown"
	}
	return ""
}

// told reports whether the last answer says that the charge is done. 202 says that it will be.
func (f finding) told() bool {
	last := f.Exchanges[max(0, len(f.Exchanges)-1):]
	return len(last) > 0 && strings.HasPrefix(last[0].Response, "HTTP/1.1 2") && !strings.HasPrefix(last[0].Response, "HTTP/1.1 202")
}

// bySeverity are the signs of a column with several probes, the one that decides first.
var bySeverity = []string{"✗", "○", "←", "!", "?", "✓", "–"}

// cell returns the sign of a column.
func (s *subject) cell(c column) string {
	decides, rank := "", len(bySeverity)
	for _, r := range s.results {
		if !strings.Contains(c.probes, r.Probe) {
			continue
		}
		sign := s.sign(r)
		if (r.Verdict == "fail" || r.Verdict == "differs") && !r.proves(c.harms) {
			sign = signs["pass"]
		}
		if i := slices.IndexFunc(bySeverity, func(b string) bool { return strings.HasPrefix(sign, b) }); i < rank {
			decides, rank = sign, i
		}
	}
	return decides
}

// proves reports whether a result has a finding that proves one of the harms.
func (r result) proves(harms []string) bool {
	return slices.ContainsFunc(r.Findings, func(f finding) bool { return slices.Contains(harms, f.harm()) })
}

// ranTwice reports whether a cell is red because a charge ran twice.
func (s *subject) ranTwice(c column) bool {
	return slices.Contains(c.harms, "twice") && slices.ContainsFunc(s.results, func(r result) bool {
		return strings.Contains(c.probes, r.Probe) && s.sign(r) == signs["fail"] && r.proves([]string{"twice"})
	})
}

// group is a kind of subjects. The groups stand in the order of the page.
type group struct{ name, plural string }

var groups = []group{{"published", "published set-ups"}, {"design", "published designs"}, {"repository", "set-ups of this repository"}}

// sum returns in one sentence how many subjects ran a charge twice, and when.
func (g group) sum(subjects []*subject) string {
	total := 0
	for _, s := range subjects {
		if slices.ContainsFunc(columns, s.ranTwice) {
			total++
		}
	}
	sentence := fmt.Sprintf("Of %d %s, %d ran a charge twice", len(subjects), g.plural, total)
	var parts []string
	for _, c := range columns {
		n := 0
		for _, s := range subjects {
			if s.ranTwice(c) {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, c.when))
		}
	}
	if parts != nil {
		sentence += ": " + strings.Join(parts, ", ")
	}
	return sentence + "."
}

// money returns the first tables: a sentence and a table for each group.
func money(subjects []*subject) string {
	var text strings.Builder
	for _, g := range groups {
		members := slices.DeleteFunc(slices.Clone(subjects), func(s *subject) bool { return s.Group != g.name })
		if len(members) == 0 {
			continue
		}
		text.WriteString("**" + g.sum(members) + "**\n\n| |")
		for _, c := range columns {
			text.WriteString(" " + c.title + " |")
		}
		text.WriteString(" its documentation promises |\n|---|" + strings.Repeat(":-:|", len(columns)) + "---|\n")
		for _, s := range members {
			text.WriteString(s.moneyRow())
		}
		text.WriteString("\n")
	}
	return text.String()
}

func (s *subject) moneyRow() string {
	cells := []string{strings.TrimSpace("[" + s.Name + "](#" + s.id + ") " + s.Version)}
	for _, c := range columns {
		cells = append(cells, s.cell(c))
	}
	return "| " + strings.Join(append(cells, s.Promise+" ("+s.Place+")"), " | ") + " |\n"
}
