package step

import (
	"fmt"
	"strings"
)

// postgresql is the server in a trace.
const postgresql = "server"

// event is a line of a trace.
type event struct{ from, to, text string }

func (e event) String() string { return fmt.Sprintf("%s → %s: %s", e.from, e.to, e.text) }

func (r *run) note(from, to, text string) { r.events = append(r.events, event{from, to, text}) }

func (r *run) replicaName(a *attempt) string { return string(rune('a' + a.replica)) }

// trace returns the run as text, a line for each event.
func (r *run) trace() string {
	var lines strings.Builder
	for i, e := range r.events {
		_, _ = fmt.Fprintf(&lines, "%3d %s\n", i+1, e) // a builder accepts everything
	}
	return lines.String()
}

// diagram returns the run as a sequence diagram in Mermaid. a1 is a connection of replica a.
func (r *run) diagram() string {
	var lines strings.Builder
	lines.WriteString("sequenceDiagram\n")
	for _, e := range r.events {
		text := strings.NewReplacer(";", ",", "#", "").Replace(e.text)
		if e.from == "clock" {
			_, _ = fmt.Fprintf(&lines, "    Note over server: the clock advances\n")
			continue
		}
		_, _ = fmt.Fprintf(&lines, "    %s->>%s: %s\n", e.from, e.to, text)
	}
	return lines.String()
}
