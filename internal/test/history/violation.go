package history

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Rule is what a history or a database must keep to. The invariants are those of the
// fault run.
type Rule string

// The rules that [Check] checks. [CompareWithDatabase] checks the first one, too.
const (
	// OneEffect (I2): all successes of a key name one effect, and the database has one.
	OneEffect Rule = "one effect of a key"
	// OneCreation (I2): at most one success of a key says that it took effect now.
	OneCreation Rule = "one creation of a key"
	// OneResponse (I3): all stored responses of a key are equal until the record expires.
	OneResponse Rule = "one response of a key"
	// RecordKept (I3): an effect has its record, committed with it, until the record expires.
	// Before, the second line of defence has nothing to answer.
	RecordKept Rule = "an effect has its record"
	// OneOwner (I11): an effect belongs to one key of one principal, and two principals
	// never get one response.
	OneOwner Rule = "one owner of an effect"
	// NoStoredFailure (I10): only successes and 402, 409 and 422 are stored.
	NoStoredFailure Rule = "no stored failure"
	// ResultSaid: every success and every stored refusal says Idempotency-Result.
	ResultSaid Rule = "a response says its result"
	// ReusedByAnother: idempotency_key_reused needs another request under the key.
	ReusedByAnother Rule = "another request under a reused key"
	// ProgressOfAnother: a request in progress needs another attempt that may run.
	ProgressOfAnother Rule = "another attempt in progress"
	// KeyOrder: some order of the attempts of a key explains every answer.
	KeyOrder Rule = "an order of the attempts of a key"
	// AccountOrder: some order of the operations of an account explains every balance.
	AccountOrder Rule = "an order of the operations of an account"
	// LedgerAgrees: the ledger has one entry for each acknowledged change, with the change
	// and the balance that the client knows.
	LedgerAgrees Rule = "ledger and history agree"
	// Undecided is no rule: the checker gave up. A run with it has proved nothing.
	Undecided Rule = "not decided within the time limit"
)

// The rules that only [CompareWithDatabase] and [Losses] check.
const (
	// EffectKept (I5): an acknowledged effect is in the database.
	EffectKept Rule = "acknowledged effect kept"
	// NoRefusedEffect: a key whose answers all say that nothing happened has no effect.
	NoRefusedEffect Rule = "no effect of a refusal"
	// LastCommitsLost: a failover loses the last commits, and none before one that it
	// keeps.
	LastCommitsLost Rule = "only the last commits lost"
)

// Violation is a rule that does not hold, and the attempts that show it.
type Violation struct {
	Rule Rule
	// Subject is the key or the account.
	Subject string
	Detail  string
	// Attempts are all attempts of a key, or those of an account that fit in no order.
	Attempts []Attempt
}

// maxLines bounds the report of one violation.
const maxLines = 40

// String returns the violation with a line for each attempt, in the order in which they
// started.
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

// String returns an attempt as a line: when, who, what, and how it ended.
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

// byStart returns the attempts in the order in which they started.
func byStart(attempts []Attempt) []Attempt {
	return slices.SortedStableFunc(slices.Values(attempts), func(a, b Attempt) int {
		return int(a.Start - b.Start)
	})
}
