package faults

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Table returns the effects as docs/reliability.md has them: a row for each node that was
// broken alone, with the times without a write, then a row for each other strike.
func Table(all []Effect) string {
	isAlone := func(e Effect) bool { return len(e.Strike) == 1 && slices.Contains(ways, e.Strike[0].Way) }
	var text strings.Builder
	text.WriteString("| node | kill | stop | cut | commands | slowest | over 30 s |\n|---|---|---|---|---|---|---|\n")
	for _, of := range group(all, isAlone, func(e Effect) string { return e.Strike[0].Target }) {
		fmt.Fprintf(&text, "| %s |", of[0].Strike[0].Target)
		for _, way := range ways {
			same := slices.DeleteFunc(slices.Clone(of), func(e Effect) bool { return e.Strike[0].Way != way })
			fmt.Fprintf(&text, " %s |", pauses(same))
		}
		text.WriteString(sum(of).columns())
	}
	isOther := func(e Effect) bool { return !isAlone(e) }
	others := group(all, isOther, func(e Effect) string { return e.Strike.String() })
	if len(others) > 0 {
		text.WriteString("\n| strike | time without a write | commands | slowest | over 30 s |\n|---|---|---|---|---|\n")
	}
	for _, same := range others {
		fmt.Fprintf(&text, "| %s | %s |%s", same[0].Strike, pauses(same), sum(same).columns())
	}
	total := sum(all)
	fmt.Fprintf(&text, "\n%d strikes, %d attempts while they lasted, %d of them without an answer or with 5xx, %d commands over 30 s\n",
		len(all), total.Attempts, total.Unanswered, total.Late)
	return text.String()
}

// group returns the effects that keep is true for, those with one name together, in the
// order in which the names come first.
func group(all []Effect, keep func(Effect) bool, name func(Effect) string) [][]Effect {
	var groups [][]Effect
	at := map[string]int{}
	for _, e := range all {
		if !keep(e) {
			continue
		}
		i, known := at[name(e)]
		if !known {
			i = len(groups)
			at[name(e)], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], e)
	}
	return groups
}

// pauses returns the time without a write, or the shortest and the longest of several.
func pauses(same []Effect) string {
	var all []time.Duration
	for _, e := range same {
		all = append(all, e.Pause)
	}
	switch len(all) {
	case 0:
		return "–"
	case 1:
		return fmt.Sprintf("%.1f s", all[0].Seconds())
	}
	return fmt.Sprintf("%.1f to %.1f s (%d times)", slices.Min(all).Seconds(), slices.Max(all).Seconds(), len(all))
}

// sum returns the effects as one, without the strike and its pause.
func sum(of []Effect) (all Effect) {
	for _, e := range of {
		all.Attempts += e.Attempts
		all.Unanswered += e.Unanswered
		all.Commands += e.Commands
		all.Late += e.Late
		all.Slowest = max(all.Slowest, e.Slowest)
	}
	return all
}

func (e Effect) columns() string {
	return fmt.Sprintf(" %d | %.1f s | %d |\n", e.Commands, e.Slowest.Seconds(), e.Late)
}
