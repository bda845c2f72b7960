package history_test

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"example.com/orders/internal/test/history"
)

// outcome is what a run leaves behind.
type outcome struct {
	attempts attempts
	ledger   []history.Entry
	effects  map[history.ID]int
}

// check returns all violations of a run.
func (o outcome) check() []history.Violation {
	return slices.Concat(history.Check(o.attempts, history.Options{Ledger: o.ledger}),
		history.CompareWithDatabase(o.attempts, o.effects))
}

func (s *simulation) outcome() outcome {
	return outcome{slices.Clone(s.attempts), append([]history.Entry{}, s.ledger...), s.effects()}
}

func TestCheck_AcceptsEveryRunOfACorrectService(t *testing.T) {
	t.Parallel()
	times := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		s := simulate(t)
		for happened, n := range s.happened {
			times[happened] += n
		}
		for _, v := range s.outcome().check() {
			t.Error(v)
		}
		for _, v := range history.Check(s.attempts, history.Options{}) {
			t.Errorf("without the ledger: %s", v)
		}
	})
	for _, what := range []string{
		"created", "refused", "reused", "another request", "in progress", "second line", "second line refuses",
		"remembered", "effect of an unknown attempt", "late effect of an unknown attempt",
	} {
		if times[what] == 0 {
			t.Errorf("no run had: %s", what)
		}
	}
	t.Log(times)
}

// Each corruption is put into runs of a correct service, wherever it can be seen. It
// cannot be seen, in principle, in a response that nobody compares with anything: the
// only one of a key whose change is of no account, or the outcome of an attempt that
// nobody asks for again and that the database does not know.
func TestCheck_ReportsEveryCorruption(t *testing.T) {
	t.Parallel()
	times := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		s := simulate(t)
		for _, name := range slices.Sorted(maps.Keys(corruptions)) {
			o, corrupt := s.outcome(), corruptions[name]
			seen := s.visible(corrupt)
			if len(seen) == 0 {
				continue
			}
			corrupt.into(&o, rapid.SampledFrom(seen).Draw(t, name))
			times[name]++
			if len(o.check()) == 0 {
				t.Errorf("not reported: %s", name)
			}
		}
	})
	for name := range corruptions {
		if times[name] == 0 {
			t.Errorf("no run had a place for: %s", name)
		}
	}
}

// corruption is a fault that some attempts show.
type corruption struct {
	// visible reports whether the fault is seen if it is put into an attempt; all are the
	// attempts of the same key.
	visible func(a history.Attempt, all attempts) bool
	into    func(o *outcome, i int)
}

// visible returns the attempts into which a fault can be put.
func (s *simulation) visible(c corruption) []int {
	var seen []int
	for i, a := range s.attempts {
		var all attempts
		for j, b := range s.attempts {
			if j != i && b.Key == a.Key {
				all = append(all, b)
			}
		}
		if c.visible(a, all) {
			seen = append(seen, i)
		}
	}
	return seen
}

func isSuccess(a history.Attempt) bool { return a.Outcome == history.OK && a.Result != "" }

func isExpiry(a history.Attempt) bool { return a.Operation == history.Expiry }

func isUnknown(a history.Attempt) bool { return a.Outcome == history.Unknown }

func isStored(a history.Attempt) bool { return a.Result != "" }

func isRefused(a history.Attempt) bool { return a.Outcome == history.Refused && a.Result == "created" }

var corruptions = map[string]corruption{
	"a replay of other bytes": {
		func(a history.Attempt, all attempts) bool {
			return isStored(a) && slices.ContainsFunc(all, isStored) && !slices.ContainsFunc(all, isExpiry)
		},
		func(o *outcome, i int) { o.attempts[i].Response += "!" },
	},
	"a second creation": {
		func(a history.Attempt, all attempts) bool {
			return isSuccess(a) && a.Result == "reused" && slices.ContainsFunc(all, func(b history.Attempt) bool {
				return isSuccess(b) && b.Result == "created"
			})
		},
		func(o *outcome, i int) { o.attempts[i].Result = "created" },
	},
	"a replay of nothing": {
		func(a history.Attempt, all attempts) bool {
			return a.Result == "created" && !slices.ContainsFunc(all, isUnknown) && !slices.ContainsFunc(all, isExpiry)
		},
		func(o *outcome, i int) { o.attempts[i].Result = "reused" },
	},
	"an effect is lost": {
		func(a history.Attempt, _ attempts) bool { return isSuccess(a) },
		func(o *outcome, i int) { delete(o.effects, o.attempts[i].ID()) },
	},
	"an effect happens twice": {
		func(a history.Attempt, _ attempts) bool { return isSuccess(a) },
		func(o *outcome, i int) { o.effects[o.attempts[i].ID()]++ },
	},
	"a refusal has an effect": {
		func(a history.Attempt, all attempts) bool {
			return isRefused(a) && !slices.ContainsFunc(all, isUnknown) && !slices.ContainsFunc(all, isSuccess)
		},
		func(o *outcome, i int) { o.effects[o.attempts[i].ID()]++ },
	},
	"a failure is stored": {
		func(a history.Attempt, _ attempts) bool { return isStored(a) },
		func(o *outcome, i int) { o.attempts[i].Status, o.attempts[i].Outcome = 503, history.Unknown },
	},
	"a wrong balance after a change": {
		func(a history.Attempt, _ attempts) bool { return isSuccess(a) },
		func(o *outcome, i int) { o.attempts[i] = leaving(*o.attempts[i].After+1, o.attempts[i]) },
	},
	"a balance that never was": {
		func(a history.Attempt, _ attempts) bool { return a.Operation == history.ReadBalance },
		func(o *outcome, i int) { o.attempts[i] = leaving(-1, o.attempts[i]) },
	},
	"an entry is lost": {
		func(a history.Attempt, _ attempts) bool { return isSuccess(a) },
		func(o *outcome, i int) {
			o.ledger = slices.DeleteFunc(o.ledger, func(e history.Entry) bool { return e.ID == o.attempts[i].ID() })
		},
	},
	"a refusal though the balance sufficed": {
		func(a history.Attempt, _ attempts) bool { return isRefused(a) },
		func(o *outcome, i int) {
			for j := range o.attempts {
				if o.attempts[j].ID() == o.attempts[i].ID() && o.attempts[j].Request == o.attempts[i].Request {
					o.attempts[j].Change = 1
				}
			}
		},
	},
	"the response of another key": {
		func(a history.Attempt, _ attempts) bool { return isSuccess(a) },
		func(o *outcome, i int) {
			stolen := of("stolen", o.attempts[i])
			stolen.Effect, stolen.Account = o.attempts[i].Effect, ""
			o.attempts, o.effects = append(o.attempts, stolen), maps.Clone(o.effects)
			o.effects[stolen.ID()] = 1
		},
	},
	"a forgotten key": {
		func(a history.Attempt, all attempts) bool { return isStored(a) && !slices.ContainsFunc(all, isExpiry) },
		func(o *outcome, i int) { o.attempts = append(o.attempts, of(o.attempts[i].Key, lookup(900, 910, ""))) },
	},
	"a key that only another request used": {
		func(a history.Attempt, all attempts) bool {
			return a.Request == "credit" && !slices.ContainsFunc(all, func(b history.Attempt) bool { return b.Request == "other" })
		},
		func(o *outcome, i int) {
			o.attempts = append(o.attempts, of(o.attempts[i].Key, problem(900, 910, 409, "idempotency_key_reused")))
		},
	},
	"a key that nobody holds": {
		func(a history.Attempt, all attempts) bool {
			return isStored(a) && !slices.ContainsFunc(all, isUnknown)
		},
		func(o *outcome, i int) { o.attempts = append(o.attempts, of(o.attempts[i].Key, inProgress(900, 910))) },
	},
}
