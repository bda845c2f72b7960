package history

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Rule is a requirement on a history or a database. The invariants are the fault run's.
type Rule string

// The rules that [Check] checks. [CompareWithDatabase] also checks the first one.
const (
	// OneEffect (I2): all successes for a key name one effect, and the database has
	// one.
	OneEffect Rule = "one effect of a key"
	// OneCreation (I2): at most one success for a key reports that it took effect now.
	OneCreation Rule = "one creation of a key"
	// OneResponse (I3): all stored responses for a key are equal until the record
	// expires.
	OneResponse Rule = "one response of a key"
	// RecordKept (I3): an effect has a record, committed with it, until the record
	// expires. Before, the second line of defence never answers.
	RecordKept Rule = "an effect has its record"
	// OneOwner (I11): an effect belongs to one principal's key, and two principals
	// never get one response.
	OneOwner Rule = "one owner of an effect"
	// NoStoredFailure (I10): only successes and 402, 409 and 422 are stored.
	NoStoredFailure Rule = "no stored failure"
	// ResultSaid: every success and every stored refusal has an Idempotency-Result.
	ResultSaid Rule = "a response says its result"
	// ReusedByAnother: idempotency_key_reused needs a different request under the key.
	ReusedByAnother Rule = "another request under a reused key"
	// ProgressOfAnother: a request in progress needs a second attempt that may run.
	ProgressOfAnother Rule = "another attempt in progress"
	// KeyOrder: some order of a key's attempts explains every answer.
	KeyOrder Rule = "an order of the attempts of a key"
	// AccountOrder: some order of an account's operations explains every balance.
	AccountOrder Rule = "an order of the operations of an account"
	// LedgerAgrees: the ledger has one entry for each acknowledged change, with the
	// change and the balance that the client knows.
	LedgerAgrees Rule = "ledger and history agree"
	// Undecided is no rule: the checker gave up. The run then has no verdict.
	Undecided Rule = "not decided within the time limit"
)

// The rules that only [CompareWithDatabase] and [Losses] check.
const (
	// EffectKept (I5): an acknowledged effect is in the database.
	EffectKept Rule = "acknowledged effect kept"
	// NoRefusedEffect: if all answers deny an effect, the key has no effect.
	NoRefusedEffect Rule = "no effect of a refusal"
	// LastCommitsLost: a failover loses only the last commits, and no commit before a kept
	// one.
	LastCommitsLost Rule = "only the last commits lost"
)

// Violation is a broken rule with the attempts that show it.
type Violation struct {
	Rule Rule
	// Subject is the key or the account.
	Subject string
	Detail  string
	// Attempts are all the key's attempts, or the account's attempts that fit in no
	// order.
	Attempts []Attempt
}

// maxLines bounds the report of one violation.
const maxLines = 40

// String returns the violation with a line for each attempt, ordered by start.
func (v Violation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s: %s", v.Rule, v.Subject, v.Detail)
	attempts := byStart(v.Attempts)
	for _, a := range attempts[:min(len(attempts), maxLines)] {
		b.WriteString("\n\t" + a.String())
	}
	if more := len(attempts) - maxLines; more > 0 {
		fmt.Fprintf(&b, "\n\tand %d more", more)
	}
	return b.String()
}

// String returns an attempt as a line: time, client, operation and outcome.
func (a Attempt) String() string {
	line := []string{fmt.Sprintf("%10s … %-10s client %d at %d", rounded(a.Start), rounded(a.End), a.Client, a.Replica), a.Operation}
	add := func(name, value string) {
		if value != "" {
			line = append(line, name+value)
		}
	}
	add("key ", a.Key)
	add("request ", a.Request)
	if a.Account != "" {
		add("account ", fmt.Sprintf("%s %+d", a.Account, a.Change))
	}
	add("→ ", string(a.Outcome))
	if a.Status != 0 {
		add("", fmt.Sprint(a.Status))
	}
	add("", a.Code)
	add("", a.Result)
	if a.SecondLine {
		add("", "by the second line")
	}
	add("response ", a.Response)
	add("of ", a.Effect)
	if a.Record != nil {
		add("", strings.TrimSpace(fmt.Sprintf("%s %s", a.Record.State, a.Record.Command)))
	}
	if a.After != nil {
		add("balance ", fmt.Sprint(*a.After))
	}
	add("", a.Error)
	return strings.Join(line, " ")
}

func rounded(d time.Duration) string { return d.Round(10 * time.Microsecond).String() }

// byStart returns the attempts ordered by start.
func byStart(attempts []Attempt) []Attempt {
	return slices.SortedStableFunc(slices.Values(attempts), func(a, b Attempt) int {
		return int(a.Start - b.Start)
	})
}
