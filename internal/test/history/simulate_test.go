package history_test

import (
	"cmp"
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"example.com/orders/internal/test/history"
)

// simulation is a service that keeps AUTH-19, and clients that overlap, hang up, retry,
// send other bodies, look keys up and make records expire. An attempt takes effect at
// one moment, which is between its start and its end unless its outcome is unknown.
type simulation struct {
	keys     map[string]*simulatedKey
	balance  int64
	ledger   []history.Entry
	attempts []history.Attempt
	happened map[string]int // what the run contains, and how often
}

type simulatedKey struct {
	record  *history.Attempt // as its first client got it
	effect  *history.Attempt
	expired int
	older   *history.Attempt // an expired record that a process remembers
}

// arrival is an attempt before it is answered.
type arrival struct {
	history.Attempt
	moment int
	never  bool // it does not reach the service
	lost   bool // its answer does not reach the client
	waits  bool // until the attempt that runs has ended, so that it is never in progress
	old    bool // it meets the process that remembers the expired record
}

// simulate returns the history of a run and what the database has in the end.
func simulate(t *rapid.T) *simulation {
	s := &simulation{keys: map[string]*simulatedKey{}, happened: map[string]int{}}
	arrivals := rapid.SliceOfN(rapid.Custom(drawArrival), 20, 45).Draw(t, "arrivals")
	slices.SortStableFunc(arrivals, func(a, b arrival) int { return cmp.Compare(a.moment, b.moment) })
	for i, a := range arrivals {
		if !a.never {
			s.arrive(&a, arrivals[i+1:])
		}
		if a.never || a.lost {
			a.Attempt = withoutAnswer(a.Attempt)
		}
		s.attempts = append(s.attempts, a.Attempt)
	}
	return s
}

// operations are what clients do, and how often.
var operations = []string{"command", "command", "command", "command", "other body", history.Lookup, history.Expiry, history.ReadBalance}

func drawArrival(t *rapid.T) arrival {
	start, waits, takes := rapid.IntRange(0, 400).Draw(t, "start"), rapid.IntRange(1, 30).Draw(t, "waits"), rapid.IntRange(1, 30).Draw(t, "takes")
	a := arrival{Attempt: at(start, start+waits+takes), moment: start + waits}
	n := rapid.IntRange(1, 4).Draw(t, "key")
	a.Key = fmt.Sprint("k", n)
	switch operation := rapid.SampledFrom(operations).Draw(t, "operation"); operation {
	case history.Lookup, history.Expiry, history.ReadBalance:
		a.Operation, a.Request = operation, ""
	case "other body":
		a.Attempt = on(int64(n), other(a.Attempt))
	default:
		a.Attempt = on(int64(15*(n%3)-18), a.Attempt) // credits and charges
	}
	if a.Operation == history.ReadBalance {
		a.Key, a.Account = "", "alice RUB"
	}
	if a.Account != "" && a.Key != "" {
		a.never = rapid.IntRange(0, 9).Draw(t, "never") == 0
		if a.lost = rapid.IntRange(0, 4).Draw(t, "lost") == 0; a.lost {
			a.moment += rapid.IntRange(0, 60).Draw(t, "late") // after the client gave up
		}
		a.old = rapid.IntRange(0, 3).Draw(t, "old") == 0
		a.waits = a.lost || rapid.Bool().Draw(t, "waits until it runs")
	}
	return a
}

func withoutAnswer(a history.Attempt) history.Attempt {
	return history.Attempt{
		Scope: a.Scope, Key: a.Key, Operation: a.Operation, Request: a.Request, Start: a.Start, End: a.End,
		Outcome: history.Unknown, Account: a.Account, Change: a.Change,
	}
}

// arrive answers an attempt, before later ones.
func (s *simulation) arrive(a *arrival, later []arrival) {
	k := s.keys[a.Key]
	if k == nil {
		k = &simulatedKey{}
		s.keys[a.Key] = k
	}
	switch a.Operation {
	case history.ReadBalance:
		a.Attempt = leaving(s.balance, a.Attempt)
		a.Outcome = history.OK
	case history.Expiry:
		a.Outcome = history.OK
		if k.record != nil {
			k.older, k.record, k.expired = k.record, nil, k.expired+1
		}
	case history.Lookup:
		s.lookUp(k, a)
	default:
		s.command(k, a, later)
	}
}

// runs reports whether a later attempt already holds the key.
func (a arrival) runs(later []arrival) bool {
	return slices.ContainsFunc(later, func(b arrival) bool {
		return b.Key == a.Key && b.waits && !b.never && b.Start < ms(a.moment)
	})
}

func (s *simulation) lookUp(k *simulatedKey, a *arrival) {
	if k.record == nil {
		a.Outcome, a.Status = history.Refused, 404
		return
	}
	a.Outcome, a.Status, a.Response = history.OK, 200, "record of "+k.record.Response
	a.Record = &history.Record{State: "completed", Command: k.record.Operation, Status: k.record.Status}
}

func (s *simulation) command(k *simulatedKey, a *arrival, later []arrival) {
	switch {
	case a.old && k.older != nil && k.older.Request == a.Request:
		s.happened["remembered"]++
		a.Attempt = answered(a.Attempt, *k.older, "reused")
	case k.record != nil && k.record.Request != a.Request:
		s.happened["another request"]++
		a.refuse("idempotency_key_reused")
	case k.record != nil:
		s.happened["reused"]++
		a.Attempt = answered(a.Attempt, *k.record, "reused")
	case !a.waits && a.runs(later):
		s.happened["in progress"]++
		a.refuse("idempotency_in_progress")
	case k.effect != nil && k.effect.Request != a.Request:
		s.happened["second line refuses"]++
		a.refuse("idempotency_key_reused")
	case k.effect != nil:
		s.happened["second line"]++
		first := *k.effect
		first.Response += fmt.Sprint(" again ", k.expired)
		a.Attempt = answered(a.Attempt, first, "reused")
		k.record = &first
	default:
		s.run(k, a)
	}
}

// refuse answers with a 409 of the guard's own.
func (a *arrival) refuse(code string) {
	a.Outcome, a.Status, a.Code = history.Refused, 409, code
}

// run decides a key.
func (s *simulation) run(k *simulatedKey, a *arrival) {
	result := a.Attempt
	if s.balance+a.Change < 0 {
		s.happened["refused"]++
		result.Outcome, result.Status, result.Code = history.Refused, 402, "insufficient_funds"
	} else {
		s.happened["created"]++
		if a.lost {
			s.happened["effect of an unknown attempt"]++
		}
		if ms(a.moment) > a.End {
			s.happened["late effect of an unknown attempt"]++
		}
		s.balance += a.Change
		result.Outcome, result.Status, result.Effect = history.OK, 201, "entry of "+a.Key
		result = leaving(s.balance, result)
		s.ledger = append(s.ledger, entry(a.Key, int64(len(s.ledger)+1), a.Change, s.balance))
		k.effect = &result
	}
	result.Response = fmt.Sprint("response of ", a.Key, " at ", a.moment)
	k.record = &result
	a.Attempt = answered(a.Attempt, result, "created")
}

// answered is the attempt with a stored response.
func answered(a, stored history.Attempt, result string) history.Attempt {
	stored.Start, stored.End, stored.Result = a.Start, a.End, result
	return stored
}

// effects returns how many effects each key has.
func (s *simulation) effects() map[history.ID]int {
	found := map[history.ID]int{}
	for _, e := range s.ledger {
		found[e.ID]++
	}
	return found
}
