package nodes

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/orders/lab/faults/clients"
	"example.com/orders/lab/faults/world"
	"example.com/orders/lab/history"
)

// overlaps reports whether a span overlaps the window.
func (w window) overlaps(s clients.Span) bool { return s.From < w.to && s.To > w.from }

// Effect is a strike as clients saw it. Only traffic through the balancer counts,
// because other clients know no other way.
type Effect struct {
	Strike Strike
	// Pause is the longest time without an acknowledged write.
	Pause time.Duration
	// Attempts counts command attempts, and Unanswered those with 5xx or no answer.
	Attempts, Unanswered int
	// Commands counts commands that overlap the strike, and Late those beyond the
	// client deadline. Slowest is the longest one.
	Commands, Late int
	Slowest        time.Duration
}

// effectsOf returns the effect in each window.
func effectsOf(windows []window, attempts []history.Attempt, finished []clients.Span) []Effect {
	attempts = slices.DeleteFunc(attempts, func(a history.Attempt) bool {
		return clients.Effects[a.Operation] == "" || a.Replica != world.Front
	})
	pauses := pausesOf(attempts)
	var all []Effect
	for _, w := range windows {
		e := Effect{Strike: w.strike}
		e.addPauses(w, pauses)
		e.addAttempts(w, attempts)
		e.addCommands(w, finished)
		all = append(all, e)
	}
	return all
}

func (e *Effect) addPauses(w window, pauses []clients.Span) {
	for _, p := range pauses {
		if w.overlaps(p) {
			e.Pause = max(e.Pause, p.To-p.From)
		}
	}
}

func (e *Effect) addAttempts(w window, attempts []history.Attempt) {
	for _, a := range attempts {
		if a.Start < w.from || a.Start >= w.to {
			continue
		}
		e.Attempts++
		if a.Outcome == history.Unknown {
			e.Unanswered++
		}
	}
}

func (e *Effect) addCommands(w window, finished []clients.Span) {
	for _, command := range finished {
		if !w.overlaps(command) {
			continue
		}
		took := command.To - command.From
		e.Commands++
		e.Slowest = max(e.Slowest, took)
		if took > clientDeadline {
			e.Late++
		}
	}
}

// pausesOf returns the times between acknowledged writes.
func pausesOf(attempts []history.Attempt) []clients.Span {
	var acknowledged []time.Duration
	for _, a := range attempts {
		if a.Outcome == history.OK && a.Result == "created" {
			acknowledged = append(acknowledged, a.End)
		}
	}
	slices.Sort(acknowledged)
	var pauses []clients.Span
	for i := 1; i < len(acknowledged); i++ {
		pauses = append(pauses, clients.Span{From: acknowledged[i-1], To: acknowledged[i]})
	}
	return pauses
}

// table returns the effects as a table with a row for each strike.
func table(all []Effect) string {
	var text strings.Builder
	text.WriteString("| strike | time without a write | attempts | unanswered | commands | slowest | over 30 s |\n|---|---|---|---|---|---|---|\n")
	for _, e := range all {
		fmt.Fprintf(&text, "| %s | %.1f s | %d | %d | %d | %.1f s | %d |\n", e.Strike, e.Pause.Seconds(),
			e.Attempts, e.Unanswered, e.Commands, e.Slowest.Seconds(), e.Late)
	}
	return text.String()
}

// clientDeadline bounds a client's retries, as in this repository's client.
const clientDeadline = 30 * time.Second
