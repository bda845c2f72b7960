package history_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/lab/history"
)

// at returns an attempt of Alice that credits a balance under the key k, from one
// millisecond to another.
func at(start, end int) history.Attempt {
	return history.Attempt{
		Scope: "alice", Key: "k", Operation: "creditBalance", Request: "credit",
		Start: ms(start), End: ms(end), Outcome: history.Unknown,
	}
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// unknown is an attempt without an answer.
func unknown(start, end int) history.Attempt { return at(start, end) }

// success is a 201 that says created or reused.
func success(start, end int, result string) history.Attempt {
	a := at(start, end)
	a.Outcome, a.Status, a.Result, a.Response, a.Effect = history.OK, 201, result, "first", "entry 1"
	return a
}

func created(start, end int) history.Attempt { return success(start, end, "created") }

func reused(start, end int) history.Attempt { return success(start, end, "reused") }

// bySecondLine is a success that the second line of defence reports.
func bySecondLine(start, end int) history.Attempt {
	a := reused(start, end)
	a.SecondLine = true
	return a
}

// refused is a stored refusal that says created or reused.
func refused(start, end int, result string) history.Attempt {
	a := at(start, end)
	a.Outcome, a.Status, a.Code, a.Result, a.Response = history.Refused, 402, "insufficient_funds", result, "no"
	return a
}

// problem is an answer of the guard's own, which is not stored.
func problem(start, end, status int, code string) history.Attempt {
	a := at(start, end)
	a.Outcome, a.Status, a.Code = history.Refused, status, code
	return a
}

func keyReused(start, end int) history.Attempt {
	return other(problem(start, end, 409, "idempotency_key_reused"))
}

func inProgress(start, end int) history.Attempt {
	return problem(start, end, 409, "idempotency_in_progress")
}

// elsewhere is the attempt at another replica.
func elsewhere(a history.Attempt) history.Attempt {
	a.Replica++
	return a
}

// other is the attempt with another body.
func other(a history.Attempt) history.Attempt {
	a.Request = "other"
	return a
}

// answer is the attempt with another response.
func answer(response string, a history.Attempt) history.Attempt {
	a.Response = response
	return a
}

// lookup is a look-up of the key; found nothing without a state.
func lookup(start, end int, state string) history.Attempt {
	a := at(start, end)
	a.Operation, a.Request = history.Lookup, ""
	switch state {
	case "":
		a.Outcome, a.Status = history.Refused, 404
	case "in_progress":
		a.Outcome, a.Status, a.Record = history.OK, 200, &history.Record{State: state}
	default:
		a.Outcome, a.Status, a.Response = history.OK, 200, "record"
		a.Record = &history.Record{State: state, Command: "creditBalance", Status: 201}
	}
	return a
}

func expiry(start, end int) history.Attempt {
	a := at(start, end)
	a.Operation, a.Request, a.Outcome = history.Expiry, "", history.OK
	return a
}

func failover(start, end int) history.Attempt {
	return history.Attempt{Operation: history.Failover, Start: ms(start), End: ms(end), Outcome: history.OK}
}

// of is the attempt of another key.
func of(key string, a history.Attempt) history.Attempt {
	a.Key = key
	a.Effect = strings.Replace(a.Effect, "1", key, 1)
	if a.Response != "" {
		a.Response += " of " + key
	}
	return a
}

// on is the attempt as a change of Alice's balance.
func on(change int64, a history.Attempt) history.Attempt {
	a.Account, a.Change = "alice RUB", change
	return a
}

// leaving is the attempt with the balance that its response names.
func leaving(balance int64, a history.Attempt) history.Attempt {
	a.After = &balance
	return a
}

func read(start, end int, balance int64) history.Attempt {
	a := leaving(balance, at(start, end))
	a.Key, a.Request, a.Operation, a.Outcome, a.Account = "", "", history.ReadBalance, history.OK, "alice RUB"
	return a
}

type attempts = []history.Attempt

// wantRules checks which rules the violations name, in their order.
func wantRules(t *testing.T, found []history.Violation, want ...history.Rule) {
	t.Helper()
	var got []history.Rule
	for _, v := range found {
		got = append(got, v.Rule)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rules (-want +got):\n%s%v", diff, found)
	}
}
