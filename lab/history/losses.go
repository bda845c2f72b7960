package history

import (
	"fmt"
	"slices"
)

// Loss is a key with an acknowledged effect that was lost in a failover.
type Loss struct {
	ID
	// Attempts are all attempts with the key.
	Attempts []Attempt
}

// Losses returns the acknowledged effects that a history's failovers lost, given the
// effects in the last database. Without synchronous replication, the documents admit
// losses; with it, there are no losses, so such a failover is not in the history.
//
// It also returns losses that no failover explains: a standby has all commits up to one
// point, so an effect cannot be lost if it was acknowledged before a kept one began.
// [Check] checks that a lost key has one response again, and a kept one the first.
func Losses(attempts []Attempt, effects map[ID]int) ([]Loss, []Violation) {
	f := failoversOf(attempts)
	ids, ofKey := groupBy(filter(attempts, Attempt.command), Attempt.ID, ID.compare)
	var losses []Loss
	kept := make([]Attempt, len(f)) // the last to begin in each database
	for _, id := range ids {
		promised := promisedBefore(f, ofKey[id])
		if len(promised) == 0 {
			continue
		}
		switch {
		case effects[id] == 0 || takenAgain(f, ofKey[id]):
			losses = append(losses, Loss{id, ofKey[id]})
		case !mayBeTakenAgain(f, ofKey[id]) || replayed(f, ofKey[id], promised[0].Response):
			for _, a := range filter(promised, Attempt.created) {
				if era, last := f.span(a); era == last && a.Start > kept[era].Start {
					kept[era] = a
				}
			}
		}
	}
	return losses, unexplainedLosses(f, losses, kept)
}

// promisedBefore returns the successes that clients got before the last database.
func promisedBefore(f failovers, attempts []Attempt) []Attempt {
	return filter(attempts, func(a Attempt) bool {
		first, _ := f.span(a)
		return a.took() && first < len(f)
	})
}

// takenAgain reports whether two databases created the effect of a key.
func takenAgain(f failovers, attempts []Attempt) bool {
	eras := map[int]bool{}
	for _, a := range attempts {
		if era, last := f.span(a); a.took() && era == last && a.created() {
			eras[era] = true
		}
	}
	return len(eras) > 1
}

// mayBeTakenAgain reports whether a key's effect may come from a later database than
// the one that acknowledged it.
func mayBeTakenAgain(f failovers, attempts []Attempt) bool {
	return slices.ContainsFunc(attempts, func(a Attempt) bool {
		first, last := f.span(a)
		return a.unknown() || first < last
	})
}

// replayed reports whether the last database replayed a response.
func replayed(f failovers, attempts []Attempt, response string) bool {
	return slices.ContainsFunc(attempts, func(a Attempt) bool {
		first, _ := f.span(a)
		return first == len(f) && a.took() && a.Response == response
	})
}

// unexplainedLosses returns the losses that were acknowledged before an effect began
// that the same failover kept.
func unexplainedLosses(f failovers, losses []Loss, kept []Attempt) []Violation {
	var found []Violation
	for _, loss := range losses {
		for _, a := range promisedBefore(f, loss.Attempts) {
			era, last := f.span(a)
			if era == last && a.End < kept[era].Start {
				found = append(found, Violation{
					Rule: LastCommitsLost, Subject: loss.String(),
					Detail:   fmt.Sprintf("lost, although %s began later and is kept", kept[era].ID()),
					Attempts: append([]Attempt{kept[era]}, loss.Attempts...),
				})
				break
			}
		}
	}
	return found
}
