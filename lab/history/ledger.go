package history

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// place assigns an account's entries to its operations. The ledger is the final truth:
// an unknown operation with an entry has happened, and one without never did. So the
// search only has to guess the positions of refusals and reads.
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

// checkEntries checks that each entry continues the previous one, and that no key has
// two.
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

// madeBy returns the operation that made an entry: the acknowledged one, or else any
// matching unknown one, from the first one's start. An entry without an attempt in the
// history may have any time.
func madeBy(e Entry, asked []accountOperation) (accountOperation, []Violation) {
	made := accountOperation{kind: changed, entry: &e, from: math.MinInt64 + e.Position, to: math.MaxInt64}
	if len(asked) == 0 {
		return made, nil
	}
	first := slices.MinFunc(asked, func(a, b accountOperation) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(e.misses(a), e.misses(b)), cmp.Compare(a.from, b.from))
	})
	made.from, made.to, made.shown = max(first.from, made.from), first.to, first.shown
	if e.misses(first) > 0 {
		return made, []Violation{{Rule: LedgerAgrees, Detail: fmt.Sprintf("the ledger has %s", e), Attempts: []Attempt{first.shown}}}
	}
	return made, nil
}

// misses returns the number of differences between an operation and the entry.
func (e Entry) misses(op accountOperation) int {
	n := 0
	if op.change != 0 && op.change != e.Change {
		n++
	}
	if op.after != nil && *op.after != e.After {
		n++
	}
	return n
}

// narrow bounds each entry's time by its neighbours: it is younger than the previous
// one, and older than the next one.
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
