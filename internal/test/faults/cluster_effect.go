package faults

import (
	"slices"
	"time"

	"example.com/orders/internal/test/history"
)

// clientDeadline is how long a client retries a command, as the client of this repository
// does.
const clientDeadline = 30 * time.Second

// span is when a client began a command, and when it knew the outcome.
type span struct{ from, to time.Duration }

func (s span) overlaps(w window) bool { return s.from < w.to && s.to > w.from }

// Effect is what clients saw of a strike. Only what came through the balancer counts, as
// other clients know no other way.
type Effect struct {
	Strike Strike
	// Pause is the longest time in which no client got an answer that a command took effect.
	Pause time.Duration
	// Attempts are those of commands, and Unanswered those with 5xx or no answer.
	Attempts, Unanswered int
	// Commands are those whose attempts overlap the strike, Late those that took longer than
	// the deadline of a client, and Slowest the time of the slowest.
	Commands, Late int
	Slowest        time.Duration
}

// effectsOf returns what clients saw in each window.
func (l *Load) effectsOf(windows []window) []Effect {
	attempts := slices.DeleteFunc(l.History.Attempts(), func(a history.Attempt) bool {
		return effects[a.Operation] == "" || a.Replica != front
	})
	pauses := pausesOf(attempts)
	var all []Effect
	for _, w := range windows {
		e := Effect{Strike: w.strike}
		e.addPauses(w, pauses)
		e.addAttempts(w, attempts)
		e.addCommands(w, l.finished)
		all = append(all, e)
	}
	return all
}

func (e *Effect) addPauses(w window, pauses []span) {
	for _, p := range pauses {
		if p.overlaps(w) {
			e.Pause = max(e.Pause, p.to-p.from)
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

func (e *Effect) addCommands(w window, finished []span) {
	for _, command := range finished {
		if !command.overlaps(w) {
			continue
		}
		took := command.to - command.from
		e.Commands++
		e.Slowest = max(e.Slowest, took)
		if took > clientDeadline {
			e.Late++
		}
	}
}

// pausesOf returns the times between the acknowledgements of commands that took effect.
func pausesOf(attempts []history.Attempt) []span {
	var acknowledged []time.Duration
	for _, a := range attempts {
		if a.Outcome == history.OK && a.Result == "created" {
			acknowledged = append(acknowledged, a.End)
		}
	}
	slices.Sort(acknowledged)
	var pauses []span
	for i := 1; i < len(acknowledged); i++ {
		pauses = append(pauses, span{acknowledged[i-1], acknowledged[i]})
	}
	return pauses
}
