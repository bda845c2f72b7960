package main

import (
	"example.com/orders/kit/guard/routetest/probe"
)

// consequences are the rules that fail in later probes, or whole probes, because a rule has
// failed in an earlier one.
var consequences = map[string][]string{
	"A once":         {"D", "G", "L", "N", "R", "B", "E", "O", "C", "H", "I", "J", "T"},
	"D mismatch":     {"E concurrent other", "E once", "E hidden", "G hidden", "R mismatch", "R hidden", "T expired other", "S hidden"},
	"D hidden":       {"E hidden", "G hidden", "R hidden", "S hidden"},
	"K rollback":     {"I killed after", "I once"},
	"B once":         {"C crowd", "C once", "E concurrent other", "E once", "E hidden", "H hang-up", "H once"},
	"B concurrent":   {"C crowd", "E concurrent other", "H hang-up"},
	"C once":         {"H hang-up", "H once"},
	"C crowd":        {"H hang-up"},
	"I killed after": {"J killed before", "J once"},
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
		if cause = explained[made.Probe] + explained[made.Probe+" "+f.Rule]; cause == "" {
			return ""
		}
	}
	return cause[:min(1, len(cause))]
}
