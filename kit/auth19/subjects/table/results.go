package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

const legend = `✓ no harm was seen · ✗ a charge ran twice or was lost, another customer got the answer, or a key stayed locked: the
reproduction is below · ○ the same, but the project does not promise otherwise · ←C the same, because of what C found ·
– not applicable · ? cannot tell · ! the server did not answer. "As above" means the same words.

*Two at once*: two requests under one key at one process. *Two processes*: fifty at two. *Client gone*: the client hangs
up while the request runs, and retries. *Crash or failure*: the process is killed before the effect or after it, the
command fails, or the store of keys is down; then the client retries. *Your answer to others*: another customer's request
under the same key. *Stuck*: for longer than 45 seconds.

Each row is an implementation in a server of about forty lines ([subjects](subjects)) that uses it as its
documentation says: a POST to /charges inserts a row into PostgreSQL, and the number of rows is the number of
effects. Passing every probe proves nothing; failing one proves something. A row says how this version, in this
configuration, answered on this day. Two processes on one machine are no cluster, and PostgreSQL ran without fsync.
A subject that could not be installed has no row: fco-gt/gopotency v1.0.0 and inngest-cli, whose npm package
downloads its program.
`

const formLegend = `Each column is a probe; ` + "`auth19 explain B`" + ` says what it sends. The profile is the one that the documentation names,
otherwise draft-07.

✓ pass · ✗ fail · ○ fails, but is not promised · ←D fails because D does · ≠ differs: a choice that another profile makes ·
– not applicable · ? cannot tell · ! the server did not answer.
`

// results returns RESULTS.md.
func results(subjects []*subject, now time.Time, runs int) string {
	var page strings.Builder
	fmt.Fprintf(&page, "# Results\n\n%s, by `make -C kit/auth19 table%s`.\n\n%s%s\n", now.Format("2 January 2006"),
		map[bool]string{true: fmt.Sprintf(" RUNS=%d", runs)}[runs > 1], money(subjects), legend)
	probes := probesOf(subjects)
	fmt.Fprintf(&page, "## All probes\n\n%s\n| | profile | %s |\n|---|---|%s\n",
		formLegend, strings.Join(probes, " | "), strings.Repeat(":-:|", len(probes)))
	for _, s := range subjects {
		page.WriteString(s.row(probes))
	}
	page.WriteString("\n## Subjects and reproductions\n\n" +
		"Each reproduction is one run of the harness, and the requests that decided. Before these requests, " +
		"the harness starts the servers at their ports.\n")
	for _, s := range subjects {
		page.WriteString(s.section())
	}
	return page.String()
}

func probesOf(subjects []*subject) []string {
	var probes []string
	for _, s := range subjects {
		for _, r := range s.results {
			if !slices.Contains(probes, r.Probe) {
				probes = append(probes, r.Probe)
			}
		}
	}
	return probes
}

// row returns the line of the table of all probes.
func (s *subject) row(probes []string) string {
	cells := []string{"[" + s.Name + "](#" + s.id + ")", s.profile}
	for _, p := range probes {
		cell := ""
		if i := slices.IndexFunc(s.results, func(r result) bool { return r.Probe == p }); i >= 0 {
			cell = s.sign(s.results[i])
		}
		cells = append(cells, cell)
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

// section describes a subject and reproduces the red cells.
func (s *subject) section() string {
	var text strings.Builder
	fmt.Fprintf(&text, "\n### %s\n\n%s. %s\n", s.id, s.Name, s.Setup)
	for _, r := range s.results {
		switch f := r.worst(); {
		case r.Follows != "":
			fmt.Fprintf(&text, "\n- %s follows from %s: %s: %s.\n", r.Probe, r.Follows, f.Rule, f.Got)
		case r.Verdict == "fail":
			text.WriteString(s.reproduction(r, f))
		case slices.Contains([]string{"not applicable", "cannot tell", "unreachable"}, r.Verdict):
			fmt.Fprintf(&text, "\n- %s, %s: %s.\n", r.Probe, r.Verdict, strings.TrimSuffix(r.Note, "."))
		case r.Verdict == "differs":
			fmt.Fprintf(&text, "\n- %s, differs: %s: %s; wanted: %s.\n", r.Probe, f.Rule, f.Got, f.Want)
		}
	}
	return text.String()
}

// worst returns the finding that decided: one that proves harm, if there is one.
func (r result) worst() finding {
	for _, f := range r.Findings {
		if f.harm() != "" {
			return f
		}
	}
	for _, f := range r.Findings {
		if f.Verdict == r.Verdict {
			return f
		}
	}
	return finding{}
}

// reproduction returns the evidence of a red cell.
func (s *subject) reproduction(r result, f finding) string {
	var text strings.Builder
	promise := ""
	if why := s.Unpromised[r.Probe]; why != "" {
		promise = "Not promised: " + why + " "
	}
	fmt.Fprintf(&text, "\n- **%s, %s**: %s%s: %s; wanted: %s. %s (%s) Effects: %d before, %d after. Failed in %d of %d runs.\n\n",
		r.Probe, r.Title, promise, f.Rule, f.Got, f.Want, f.Says, f.Source, f.Before, f.After, s.failed[r.Probe], s.asked[r.Probe])
	fmt.Fprintf(&text, "      make -C kit/auth19 table ONLY=%s PROBES=%s\n", s.id, r.Probe)
	for _, e := range f.Exchanges {
		fmt.Fprintf(&text, "\n      %s\n      # %s\n", unmasked.Replace(e.Curl), short(e.Response))
	}
	return text.String()
}

// unmasked puts the tokens of the subjects in place of the masks.
var unmasked = strings.NewReplacer("<token of a>", "alice", "<token of b>", "bob")

var blank = regexp.MustCompile(`\s+`)

// short returns the status and the body of a response in one line.
func short(response string) string {
	head, body, _ := strings.Cut(response, "\n\n")
	status, _, _ := strings.Cut(head, "\n")
	line := []rune(blank.ReplaceAllString(strings.TrimPrefix(status, "HTTP/1.1 ")+" "+body, " "))
	return strings.TrimSpace(string(line[:min(len(line), 300)]))
}
