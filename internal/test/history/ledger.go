package history

import (
	"fmt"
	"math"
)

// place gives the operations of an account their entries. The ledger is the final truth:
// an unknown operation with an entry has happened, and one without never did. So the
// search has nothing left to guess but where refusals and reads belong.
func place(operations []accountOperation, entries []Entry) ([]accountOperation, []Violation) {
	found := checkEntries(entries)
	asked := map[ID][]accountOperation{}
	var placed []accountOperation
	for _, op := range operations {
		if op.kind == changed || op.kind == mayChange {
			asked[op.shown.ID()] = append(asked[op.shown.ID()], op)
		} else {
			placed = append(placed, op)
		}
	}
	chain := make([]accountOperation, len(entries))
	for i, e := range entries {
		made, wrong := madeBy(e, asked[e.ID])
		found = append(found, wrong...)
		chain[i] = made
		delete(asked, e.ID)
	}
	for _, left := range asked {
		for _, op := range left {
			if op.kind == changed {
				found = append(found, Violation{Rule: LedgerAgrees, Detail: "no entry for an acknowledged change", Attempts: []Attempt{op.shown}})
			}
		}
	}
	if len(found) == 0 {
		found = narrow(chain)
	}
	return append(placed, chain...), found
}

// checkEntries checks that each entry continues the one before it, and that no key has two.
func checkEntries(entries []Entry) []Violation {
	var found []Violation
	seen := map[ID]bool{}
	var before Entry
	for _, e := range entries {
		if e.Position != before.Position+1 || e.After != before.After+e.Change {
			found = append(found, Violation{Rule: LedgerAgrees, Detail: fmt.Sprintf("%s follows a balance of %d", e, before.After)})
		}
		if e.ID != (ID{}) && seen[e.ID] {
			found = append(found, Violation{Rule: LedgerAgrees, Detail: fmt.Sprintf("%s: a second entry of the key", e)})
		}
		seen[e.ID], before = true, e
	}
	return found
}

// madeBy returns the operation that made an entry. Of several unknown ones that may have
// made it, it is any since the first of them. An entry that no attempt of the history asked
// for may be of any time.
func madeBy(e Entry, asked []accountOperation) (accountOperation, []Violation) {
	made := accountOperation{kind: changed, entry: &e, from: math.MinInt64 + e.Position, to: math.MaxInt64}
	fits := false
	for _, op := range asked {
		agrees := (op.change == 0 || op.change == e.Change) && (op.after == nil || *op.after == e.After)
		switch {
		case op.kind == changed && !agrees:
			return made, []Violation{{Rule: LedgerAgrees, Detail: fmt.Sprintf("the ledger has %s", e), Attempts: []Attempt{op.shown}}}
		case op.kind == changed:
			made.from, made.to, made.shown = max(op.from, made.from), op.to, op.shown
			return made, nil
		case agrees && (!fits || op.from < made.from):
			fits = true
			made.from, made.shown = op.from, op.shown
		}
	}
	if len(asked) > 0 && !fits {
		return made, []Violation{{Rule: LedgerAgrees, Detail: fmt.Sprintf("nobody asked for %s", e), Attempts: []Attempt{asked[0].shown}}}
	}
	return made, nil
}

// narrow bounds when each entry was made by its neighbours: it is younger than the one
// before it, and older than the one after it.
func narrow(chain []accountOperation) []Violation {
	for i := 1; i < len(chain); i++ {
		chain[i].from = max(chain[i].from, chain[i-1].from)
	}
	for i := len(chain) - 2; i >= 0; i-- {
		chain[i].to = min(chain[i].to, chain[i+1].to)
	}
	for i, op := range chain {
		if op.from > op.to {
			return []Violation{{
				Rule: LedgerAgrees, Attempts: []Attempt{op.shown},
				Detail: fmt.Sprintf("%s comes after an entry of a later attempt, or before one of an earlier attempt", chain[i].entry),
			}}
		}
	}
	return nil
}
