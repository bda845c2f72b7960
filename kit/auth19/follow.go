package main

import (
	"fmt"
	"slices"
	"strings"

	"example.com/orders/kit/guard/routetest/probe"
)

// consequences are the rules that fail in later probes because a rule has failed in an
// earlier one.
var consequences = map[string][]string{
	"A once": {
		"D replay", "D once", "G replay", "G once", "L replay", "L once", "N spelling", "N once", "R refusal", "R once", "B replay",
		"O immediate", "O once", "C crowd", "C once", "H hang-up", "H once", "T expired", "F replay",
	},
	"A replay": {
		"D replay", "G replay", "L replay", "N spelling", "N quoted", "N path", "R refusal", "B concurrent", "B replay", "O immediate", "C crowd", "H hang-up",
		"I killed after", "F replay",
	},
	"D mismatch":     {"E concurrent other", "E once", "E hidden", "G hidden", "R mismatch", "R hidden", "T expired other", "S hidden"},
	"D replay":       {"G replay"},
	"D hidden":       {"E hidden", "G hidden", "R hidden", "F hidden", "S hidden"},
	"K rollback":     {"I killed after", "I once"},
	"B once":         {"C crowd", "C once", "E concurrent other", "E once", "E hidden", "H hang-up", "H once"},
	"B concurrent":   {"C crowd", "E concurrent other", "H hang-up"},
	"O once":         {"C once", "C crowd"},
	"O immediate":    {"C crowd"},
	"C once":         {"H hang-up", "H once"},
	"C crowd":        {"H hang-up"},
	"I killed after": {"J killed before", "J once"},
	"F scope":        {"S secrets"},
}

// cause returns the earlier probe whose failure explains all failures of a result, or "".
func (r *report) cause(made result) string {
	explained := map[string]string{}
	for _, earlier := range r.Results {
		for _, f := range earlier.Findings {
			if !earlier.red() || f.Verdict != string(probe.Fail) {
				continue
			}
			for _, consequence := range consequences[earlier.Probe+" "+f.Rule] {
				explained[consequence] = earlier.Probe
			}
		}
	}
	cause := ""
	for _, f := range made.Findings {
		if f.Verdict != string(probe.Fail) {
			continue
		}
		if cause = explained[made.Probe+" "+f.Rule]; cause == "" {
			return ""
		}
	}
	return cause
}

// cause is a result that decides the exit status, or that explains later failures.
type cause struct {
	Probe string `json:"probe"`
	// Followers are the later probes that fail because of this one.
	Followers []string `json:"followers"`

	result result
}

// explain adds a result to the causes, or to the followers of its cause.
func (r *report) explain(made result) {
	if made.Follows != "" {
		i := slices.IndexFunc(r.Causes, func(c cause) bool { return c.Probe == made.Follows })
		r.Causes[i].Followers = append(r.Causes[i].Followers, made.Probe)
	} else if made.decides() {
		r.Causes = append(r.Causes, cause{Probe: made.Probe, Followers: []string{}, result: made})
	}
}

// decides reports whether a result decides the exit status, or would if it were not known.
func (r result) decides() bool {
	return r.red() || r.broke() || r.Verdict == string(probe.Unreachable)
}

// line returns the cause in one line, with its followers.
func (c cause) line() string {
	name := c.Probe
	if c.result.Known && c.result.red() {
		name += " (known)"
	}
	if len(c.Followers) > 0 {
		name += ", and from it " + strings.Join(c.Followers, ", ")
	}
	if !c.result.red() {
		return strings.TrimSuffix(fmt.Sprintf("%s: %s: %s", name, c.result.verdict(), c.result.reason()), ": ")
	}
	return fmt.Sprintf("%s: expected that %s; %s", name, c.result.Title, c.result.worst().line())
}

// causesAs returns the causes, each behind a mark in a line.
func (r *report) causesAs(mark string) string {
	var lines strings.Builder
	for _, c := range r.Causes {
		lines.WriteString(mark + c.line() + "\n")
	}
	return lines.String()
}
