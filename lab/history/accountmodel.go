package history

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// accountState is an account balance. It is unknown at the start if the history
// begins in the middle.
type accountState struct {
	known   bool
	balance int64
	// position of the last entry, if the ledger is known
	position int64
}

// accountOperation is all attempts with one key, or one read.
type accountOperation struct {
	kind   operationKind
	change int64
	after  *int64
	// entry is the ledger entry of the operation, if the ledger is known.
	entry *Entry
	// shown is an attempt that represents the operation in a report.
	shown Attempt
	// from and to bound when it took effect.
	from, to int64
}

type operationKind int

const (
	changed     operationKind = iota // took effect
	mayChange                        // took effect at any time after it began, or never
	refusedLess                      // refused because the balance was insufficient
	balanceRead
)

// accountModel is the sequential behaviour of one account.
func accountModel(begin accountState) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return begin },
		Step: func(state, input, _ any) (bool, any) {
			return state.(accountState).step(input.(accountOperation)) //nolint:forcetypeassert // the model's own types
		},
	}
}

// step returns the state after an operation, and reports whether the operation is
// possible now.
func (s accountState) step(op accountOperation) (bool, accountState) {
	switch op.kind {
	case balanceRead:
		return s.sees(*op.after)
	case refusedLess:
		return !s.known || s.balance+op.change < 0, s
	case changed, mayChange:
	}
	if op.entry != nil {
		return s.position+1 == op.entry.Position, accountState{true, op.entry.After, op.entry.Position}
	}
	next := s
	next.balance += op.change
	switch {
	case op.after != nil:
		return next.sees(*op.after)
	case s.known && next.balance < 0:
		return op.kind == mayChange, s // it never takes effect, and is the last step
	}
	return true, next
}

// sees reports whether the balance is possible, and makes it known.
func (s accountState) sees(balance int64) (bool, accountState) {
	if !s.known {
		s.known, s.balance = true, balance
	}
	return s.balance == balance, s
}

// Entry is the ledger entry of an account.
type Entry struct {
	ID      // the command key, may be empty
	Account string
	// Position counts the entries of the account: 1, 2, 3 …
	Position int64
	Change   int64
	// After is the balance after the entry.
	After int64
}

func (e Entry) String() string {
	return fmt.Sprintf("entry %d of %s: %+d, balance %d, %s", e.Position, e.Account, e.Change, e.After, e.ID)
}
