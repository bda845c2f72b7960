package history

import (
	"fmt"
	"slices"
)

// CompareWithDatabase returns the keys whose effects in the database, counted by
// [CountEffects], contradict the clients' answers: more than one effect (I2), none for
// an acknowledged command (I5), or one although every answer denies it.
//
// A failover may lose acknowledged effects: see [Losses].
func CompareWithDatabase(attempts []Attempt, effects map[ID]int) []Violation {
	f := failoversOf(attempts)
	commands := filter(attempts, Attempt.command)
	ids, ofKey := groupBy(commands, Attempt.ID, ID.compare)
	var found []Violation
	for _, id := range ids {
		n, all := effects[id], ofKey[id]
		report := func(rule Rule, detail string) {
			found = append(found, Violation{rule, id.String(), detail, all})
		}
		acknowledged := func(a Attempt) bool {
			first, _ := f.span(a)
			return a.Outcome == OK && first == len(f)
		}
		mayTake := func(a Attempt) bool { return a.Outcome != Refused }
		if n > 1 {
			report(OneEffect, fmt.Sprintf("%d effects in the database", n))
		}
		if n == 0 && slices.ContainsFunc(all, acknowledged) {
			report(EffectKept, "acknowledged, and no effect in the database")
		}
		if n > 0 && !slices.ContainsFunc(all, mayTake) {
			report(NoRefusedEffect, "every answer says that it had none, and the database has one")
		}
	}
	return found
}
