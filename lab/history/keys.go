package history

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// checkKeys checks each key separately: first the rules that name a defect, and then
// whether some order of the attempts explains every answer.
func checkKeys(attempts []Attempt, limit time.Duration) []Violation {
	var found []Violation
	f := failoversOf(attempts)
	keyed := filter(attempts, func(a Attempt) bool { return a.Key != "" })
	ids, ofKey := groupBy(keyed, Attempt.ID, ID.compare)
	for _, id := range ids {
		eras := f.split(ofKey[id])
		wrong := append(checkAnswers(ofKey[id]), checkRecord(ofKey[id])...)
		for _, era := range eras {
			wrong = append(wrong, checkEra(era)...)
		}
		if len(wrong) == 0 {
			wrong = checkOrders(eras, limit)
		}
		for _, v := range wrong {
			v.Subject, v.Attempts = id.String(), ofKey[id]
			found = append(found, v)
		}
	}
	return found
}

// checkAnswers checks each answer alone.
func checkAnswers(attempts []Attempt) []Violation {
	var found []Violation
	for _, a := range filter(attempts, Attempt.command) {
		switch {
		case a.Result != "" && a.Status != 0 && !storable(a.Status):
			found = append(found, Violation{Rule: NoStoredFailure, Detail: fmt.Sprintf("%d says %s", a.Status, a.Result)})
		case a.Result == "" && a.Outcome == OK:
			found = append(found, Violation{Rule: ResultSaid, Detail: fmt.Sprintf("%d says no result", a.Status)})
		}
	}
	return append(found, checkOthers(attempts)...)
}

// checkOthers checks the answers that a different attempt has to explain.
func checkOthers(attempts []Attempt) []Violation {
	var found []Violation
	holders := holdersOf(attempts)
	for _, a := range attempts {
		other := func(b Attempt) bool { return b.command() && b.Request != a.Request && b.Start <= a.End }
		if a.Code == codeReused && !slices.ContainsFunc(attempts, other) {
			found = append(found, Violation{Rule: ReusedByAnother, Detail: "all attempts ask for the same"})
		}
		if a.inProgress() && !a.besideAny(holders) {
			found = append(found, Violation{Rule: ProgressOfAnother, Detail: fmt.Sprintf("nothing runs between %s and %s",
				rounded(a.Start), rounded(a.End))})
		}
	}
	return found
}

// holdersOf returns the attempts that may have held the key. Among them are attempts that
// lost it to another one, which in turn was refused or not: the last one was not.
func holdersOf(attempts []Attempt) []Attempt {
	holders := filter(attempts, func(a Attempt) bool { return a.command() && !a.inProgress() })
	losers := filter(attempts, Attempt.mayHaveLostKey)
	for known := -1; known < len(holders); {
		known = len(holders)
		losers = slices.DeleteFunc(losers, func(a Attempt) bool {
			lost := a.besideAny(holders)
			if lost {
				holders = append(holders, a)
			}
			return lost
		})
	}
	return holders
}

// checkRecord checks that the second line of defence answers no attempt that ended
// before the key's record could expire.
func checkRecord(attempts []Attempt) []Violation {
	var found []Violation
	for _, a := range filter(attempts, func(a Attempt) bool { return a.SecondLine && a.took() }) {
		expired := func(b Attempt) bool { return b.Operation == Expiry && b.Start <= a.End }
		if !slices.ContainsFunc(attempts, expired) {
			found = append(found, Violation{Rule: RecordKept, Detail: "the second line of defence answers before it expired"})
		}
	}
	return found
}

// checkEra checks the answers of one database with the rules that need no search.
func checkEra(attempts []Attempt) []Violation {
	var found []Violation
	if n := len(filter(attempts, func(a Attempt) bool { return a.took() && a.created() })); n > 1 {
		found = append(found, Violation{Rule: OneCreation, Detail: fmt.Sprintf("%d successes say created", n)})
	}
	if responses := storedResponses(attempts); len(responses) > 1 {
		found = append(found, Violation{Rule: OneResponse, Detail: fmt.Sprintf("its stored responses are %q", responses)})
	}
	if effects := namedEffects(attempts); len(effects) > 1 {
		found = append(found, Violation{Rule: OneEffect, Detail: fmt.Sprintf("its successes name %q", effects)})
	}
	return found
}

// storedResponses returns the different stored responses for a key with a record that never
// expired.
func storedResponses(attempts []Attempt) []string {
	var responses []string
	for _, a := range attempts {
		if a.Operation == Expiry {
			return nil
		}
		if a.decides() {
			responses = append(responses, a.Response)
		}
	}
	slices.Sort(responses)
	return slices.Compact(responses)
}

// namedEffects returns the different effects in the successes of a key, each with the
// resulting balance. They never change.
func namedEffects(attempts []Attempt) []string {
	var effects []string
	for _, a := range filter(attempts, Attempt.took) {
		name := a.Effect
		if a.After != nil {
			name += fmt.Sprintf(", balance %d", *a.After)
		}
		effects = append(effects, name)
	}
	slices.Sort(effects)
	return slices.Compact(effects)
}

// checkOrders checks the answers of each database with the key model. Each database begins
// with or without an earlier one's record.
func checkOrders(eras [][]Attempt, limit time.Duration) []Violation {
	var found []Violation
	begin := []keyState{{}}
	for _, era := range eras {
		model, operations := keyModel(begin), keyOperations(era)
		switch porcupine.CheckOperationsTimeout(model, operations, limit) {
		case porcupine.Illegal:
			found = append(found, Violation{Rule: KeyOrder, Detail: "no order of its attempts explains every answer"})
		case porcupine.Unknown:
			found = append(found, undecided(len(operations), limit))
		}
		begin = append(begin, inherited(era)...)
	}
	return found
}

func undecided(operations int, limit time.Duration) Violation {
	return Violation{Rule: Undecided, Detail: fmt.Sprintf("%d operations, no result within %s", operations, limit)}
}

// inherited returns the possible initial states for a later database that kept this
// one's record. Records from unknown attempts are not among them: those attempts also
// reach the later database.
func inherited(attempts []Attempt) []keyState {
	expires := slices.ContainsFunc(attempts, func(a Attempt) bool { return a.Operation == Expiry })
	seen := map[keyState]bool{}
	for _, a := range filter(attempts, Attempt.decides) {
		s := keyState{stored: true, record: recordOf(a)}
		if a.Outcome == OK {
			s.effect = effect{certain, a.Request, a.Effect}
		}
		seen[s] = true
		if expires {
			seen[keyState{effect: s.effect}] = true
		}
	}
	return slices.Collect(maps.Keys(seen))
}
