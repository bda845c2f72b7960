package history

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// checkAccounts checks each account separately. Some order must explain the account's
// changes and reads; it is the ledger's if that is known.
func checkAccounts(attempts []Attempt, opt Options) []Violation {
	f := failoversOf(attempts)
	expired := expiredKeys(attempts)
	onAccount := filter(attempts, func(a Attempt) bool { return a.Account != "" })
	accounts, ofAccount := groupBy(onAccount, func(a Attempt) string { return a.Account }, strings.Compare)
	_, ledger := groupBy(opt.Ledger, func(e Entry) string { return e.Account }, strings.Compare)
	var found []Violation
	for _, account := range accounts {
		stock := strings.HasPrefix(account, stockOf)
		for era, asked := range f.split(ofAccount[account]) {
			operations := accountOperations(asked, expired, era > 0)
			begin := accountState{known: era == 0 && opt.Ledger == nil && !stock}
			var wrong []Violation
			if !stock && opt.Ledger != nil && era == len(f) {
				begin = accountState{known: true}
				operations, wrong = place(operations, ledger[account])
			} else if era > 0 {
				forgetEarlier(operations)
			}
			if len(wrong) == 0 {
				wrong = checkBalances(begin, operations, opt.Limit)
			}
			for _, v := range wrong {
				v.Subject = account
				found = append(found, v)
			}
		}
	}
	return found
}

// expiredKeys returns the keys with records that expired, or may have expired.
func expiredKeys(attempts []Attempt) map[ID]bool {
	expired := map[ID]bool{}
	for _, a := range attempts {
		if a.Operation == Expiry {
			expired[a.ID()] = true
		}
	}
	return expired
}

// accountOperations returns the operations on an account that one database did or may
// have done. In a later database, an operation that was only replayed may come from an
// earlier one.
func accountOperations(attempts []Attempt, expired map[ID]bool, later bool) []accountOperation {
	var operations []accountOperation
	for _, a := range attempts {
		if a.Key == "" && a.Outcome == OK && a.After != nil {
			operations = append(operations, operationOf(balanceRead, a, a.Start, a.End))
		}
	}
	type request struct{ key, content string }
	requests, attemptsOf := groupBy(filter(attempts, Attempt.command),
		func(a Attempt) request { return request{a.ID().String(), a.Request} },
		func(a, b request) int { return strings.Compare(a.key+a.content, b.key+b.content) })
	for _, r := range requests {
		operations = append(operations, operationsOf(attemptsOf[r], expired, later)...)
	}
	return operations
}

// tooLittle are the refusals of what would make a balance or an available stock negative.
var tooLittle = []string{"insufficient_funds", "out_of_stock", "stock_reserved"}

// operationsOf returns the operations of one request on the account.
func operationsOf(attempts []Attempt, expired map[ID]bool, later bool) []accountOperation {
	took := filter(attempts, Attempt.took)
	refused := filter(attempts, func(a Attempt) bool { return a.decides() && slices.Contains(tooLittle, a.Code) })
	decided := slices.ContainsFunc(attempts, Attempt.decides)
	unknown := byStart(filter(attempts, Attempt.unknown))
	first := byStart(attempts)[0]
	if len(unknown) > 0 {
		first = unknown[0]
	}
	operations := slices.Concat(decidedBy(changed, took, first, later), decidedBy(refusedLess, refused, first, later))
	if len(took) == 0 && len(unknown) > 0 && (!decided || expired[first.ID()]) {
		operations = append(operations, operationOf(mayChange, first, first.Start, math.MaxInt64))
	}
	return operations
}

// decidedBy returns an operation for each attempt that decided the key. If all were
// replays, the first attempt did, some time before the first replay.
func decidedBy(kind operationKind, answers []Attempt, first Attempt, later bool) []accountOperation {
	var operations []accountOperation
	for _, a := range filter(answers, Attempt.created) {
		operations = append(operations, operationOf(kind, a, a.Start, a.End))
	}
	if len(answers) == 0 || len(operations) > 0 {
		return operations
	}
	shown := slices.MinFunc(answers, func(a, b Attempt) int { return int(a.End - b.End) })
	op := operationOf(kind, shown, first.Start, shown.End)
	if later {
		op.from = math.MinInt64
	}
	return []accountOperation{op}
}

func operationOf(kind operationKind, a Attempt, from, to time.Duration) accountOperation {
	return accountOperation{kind: kind, change: a.Change, after: a.After, shown: a, from: int64(from), to: int64(to)}
}

// forgetEarlier turns operations that may come from an earlier database into ones that
// may never happen in this one.
func forgetEarlier(operations []accountOperation) {
	for i, op := range operations {
		if op.kind == changed && op.from == math.MinInt64 {
			operations[i].kind, operations[i].after, operations[i].to = mayChange, nil, math.MaxInt64
		}
	}
}

// checkBalances reports whether some operation order explains every balance.
func checkBalances(begin accountState, operations []accountOperation, limit time.Duration) []Violation {
	history := make([]porcupine.Operation, len(operations))
	for i, op := range operations {
		history[i] = porcupine.Operation{Input: op, Call: op.from, Return: op.to}
	}
	model := accountModel(begin)
	switch porcupine.CheckOperationsTimeout(model, history, limit) {
	case porcupine.Illegal:
		unfit := unexplained(model, history, limit)
		return []Violation{{
			Rule: AccountOrder, Attempts: unfit,
			Detail: fmt.Sprintf("no order of its %d operations explains every balance; the longest leaves %d", len(history), len(unfit)),
		}}
	case porcupine.Unknown:
		return []Violation{undecided(len(history), limit)}
	}
	return nil
}

// unexplained returns the attempts that the longest order leaves out.
func unexplained(model porcupine.Model, history []porcupine.Operation, limit time.Duration) []Attempt {
	_, info := porcupine.CheckOperationsVerbose(model, history, limit)
	var longest []porcupine.Operation
	for _, partition := range info.PartialLinearizationsOperations() {
		for _, order := range partition {
			if len(order) > len(longest) {
				longest = order
			}
		}
	}
	placed := map[accountOperation]bool{}
	for _, op := range longest {
		placed[op.Input.(accountOperation)] = true //nolint:forcetypeassert // the model's own type
	}
	var left []Attempt
	for _, op := range history {
		if input := op.Input.(accountOperation); !placed[input] && op.Return < math.MaxInt64 { //nolint:forcetypeassert // as above
			left = append(left, input.shown)
		}
	}
	return left
}
