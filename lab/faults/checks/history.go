package checks

import (
	"fmt"
	"slices"

	"example.com/orders/lab/faults/clients"
	"example.com/orders/lab/faults/world"
	"example.com/orders/lab/history"
)

// sampled is the number of keys to look up at the end.
const sampled = 20

// lookUpAgain looks up some keys after all work has ended. None may be in progress
// (I9); the history check judges the answers.
func lookUpAgain(l *clients.Load) {
	c := l.NewClient(clients.Checker)
	commands := slices.DeleteFunc(l.History.Attempts(), func(a history.Attempt) bool { return clients.Effects[a.Operation] == "" })
	for range sampled {
		a := clients.OneOf(c.Random, commands)
		if found := c.Finish(clients.LookUp(a.Key, a.Scope, "customer")); found.Record != nil && found.Record.State == "in_progress" {
			l.T.Errorf("no key is in progress (I9), but: %s of %s", a.Key, a.Scope)
		}
	}
}

// checkHistory reports answers that a service under AUTH-19 cannot give, and
// differences between effects in the database and effects reported to clients (I2, I3,
// I5, I11).
func checkHistory(l *clients.Load) {
	ledger, err := history.LoadLedger(l.T.Context(), l.DB)
	if err != nil {
		l.T.Fatal(err)
	}
	done, err := history.CountEffects(l.T.Context(), l.DB)
	if err != nil {
		l.T.Fatal(err)
	}
	attempts := l.History.Attempts()
	if l.Memory.Lossy {
		forgetBalances(attempts)
	}
	if l.Memory.Lossy || l.Clock != nil { // a reservation may end without a command
		forget(attempts, func(a history.Attempt) bool { return a.Account == history.StockOf(clients.Kettle.SKU) })
	}
	losses, unexplained := history.Losses(attempts, done)
	for _, v := range slices.Concat(history.Check(attempts, history.Options{Ledger: ledger}), history.CompareWithDatabase(attempts, done), unexplained) {
		l.T.Error(v)
	}
	l.Counters.Add("effects lost by a failover", len(losses))
	l.Counters.Add("histories checked", 1)
}

// mostPromises bounds the promises that are checked at a time.
const mostPromises = 50

// WantPromisesKept checks the last promises.
func WantPromisesKept(l *clients.Load) {
	for _, broken := range brokenPromises(l) {
		l.T.Error(broken)
	}
}

// brokenPromises resends the last commands and looks them up. It returns those that are
// not replayed byte by byte, or that a lookup does not report.
func brokenPromises(l *clients.Load) (broken []string) {
	promises := l.Promises()
	c := l.NewClient(clients.Checker)
	for _, p := range promises[max(0, len(promises)-mostPromises):] {
		found := c.Finish(p.LookUp()).Record
		if found == nil || found.State != "completed" || found.Status != p.First.Status {
			broken = append(broken, fmt.Sprintf("a key that was answered is completed (I5), but:\n%v\n%v", p.First, found))
		}
		if again := c.Finish(p.Op); again.Result != "reused" || again.Response != p.First.Response {
			broken = append(broken, fmt.Sprintf("a stored response is replayed (I3), but:\n%v\n%v", p.First, again))
		}
		l.Counters.Add(world.PromisesChecked, 1)
	}
	return broken
}

// WantReplayedEverywhere lets the clients work for a while. Then it sends some of all
// commands to each replica, the last ones included, and wants their first responses.
func WantReplayedEverywhere(l *clients.Load) {
	l.AwaitDecided(5 * clients.Pause)
	promises := l.Promises()
	c := l.NewClient(clients.Checker)
	for _, replica := range l.Endpoints {
		for i := len(promises) - 1; i >= 0; i -= max(1, len(promises)/clients.Pause) {
			p := promises[i]
			again := c.Send(l.T.Context(), replica, p.Op)
			if again.Result != "reused" || again.Response != p.First.Response {
				l.T.Errorf("a stored response is replayed by replica %d (I3), but:\n%v\n%v", replica.Number, p.First, again)
			}
			l.Counters.Add(world.PromisesChecked, 1)
		}
	}
}
