package faults

import (
	"slices"

	"example.com/orders/lab/history"
)

// sampled is the number of keys to look up at the end.
const sampled = 20

// lookUpAgain looks up some keys after all work has ended. None may be in progress
// (I9); the history check judges the answers.
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

// checkHistory reports answers that a service under AUTH-19 cannot give, and
// differences between effects in the database and effects reported to clients (I2, I3,
// I5, I11).
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
	if l.world.lossy || l.Clock != nil { // a reservation may end without a command
		forget(attempts, func(a history.Attempt) bool { return a.Account == history.StockOf(kettle.sku) })
	}
	losses, unexplained := history.Losses(attempts, done)
	for _, v := range slices.Concat(history.Check(attempts, history.Options{Ledger: ledger}), history.CompareWithDatabase(attempts, done), unexplained) {
		l.t.Error(v)
	}
	l.Counters.Add("effects lost by a failover", len(losses))
	l.Counters.Add("histories checked", 1)
}
