package faults

import (
	"slices"

	"example.com/orders/internal/test/history"
)

// sampled is how many keys are looked up at the end.
const sampled = 20

// lookUpAgain looks up some keys when nothing runs any more. The history shows whether the
// answers are right, and none may be in progress (I9).
func (l *Load) lookUpAgain() {
	l.t.Helper()
	c := l.newClient(checker)
	commands := slices.DeleteFunc(l.History.Attempts(), func(a history.Attempt) bool { return effects[a.Operation] == "" })
	for range sampled {
		a := oneOf(c.random, commands)
		op := operation{id: a.Operation}
		op.call.Key = a.Key
		if found := c.finish(lookUp(op, a.Scope, "customer")); found.Record != nil && found.Record.State == "in_progress" {
			l.t.Errorf("no key is in progress (I9), but: %s of %s", a.Key, a.Scope)
		}
	}
}

// checkHistory reports what no service that keeps AUTH-19 can have answered, and effects that
// are not in the database as often as clients were told (I2, I3, I5, I11).
func (l *Load) checkHistory() {
	l.t.Helper()
	ledger, err := history.LoadLedger(l.t.Context(), l.DB)
	if err != nil {
		l.t.Fatal(err)
	}
	done, err := history.CountEffects(l.t.Context(), l.DB)
	if err != nil {
		l.t.Fatal(err)
	}
	attempts := l.History.Attempts()
	if l.world.lossy {
		forgetBalances(attempts)
	}
	violations := history.Check(attempts, history.Options{Ledger: ledger})
	violations = append(violations, history.CompareWithDatabase(attempts, done)...)
	losses, unexplained := history.Losses(attempts, done)
	for _, v := range append(violations, unexplained...) {
		l.t.Error(v)
	}
	l.Counters.Add("effects lost by a failover", len(losses))
	l.Counters.Add("histories checked", 1)
}
