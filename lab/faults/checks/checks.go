// Package checks judges a run: the database, the card provider, the stream and the logs
// must agree with the responses that clients have got.
package checks

import (
	"context"

	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/adapters/in/events"
	outnats "example.com/orders/internal/adapters/out/nats"
	"example.com/orders/internal/dev/fakestripe"
	natstest "example.com/orders/internal/test/nats"
	"example.com/orders/lab/faults/clients"
	"example.com/orders/lab/faults/world"
	"example.com/orders/lab/history"
)

// Begin looks at what must always hold, until conclude is called after the clients have
// stopped. conclude settles open work, and checks every promise.
func Begin(l *clients.Load) (conclude func()) {
	before := base(l)
	stopWatch := watch(l)
	return func() {
		l.Counters.Add(world.UnknownReplayed, replayedUnknowns(l.History.Attempts()))
		settle(l)
		stopWatch()
		lookUpAgain(l)
		checkAll(l)
		checkHistory(l)
		awaitNoLeaks(l, before)
		l.Counters.Require(l.T, looks)
	}
}

// facts are the inputs to the checks, read from a settled run.
type facts struct {
	*clients.Memory
	// db is a database snapshot.
	db pgx.Tx
	// charges are the card provider's charges by our reference.
	charges map[string]fakestripe.Charge
	// events, messages and deadLetters are the three streams' contents.
	events, messages, deadLetters [][]byte
	// logs is the output from all processes, and mismatches that of `orders reconcile`.
	logs, mismatches string
}

// check is one promise. It returns contradictions.
type check struct {
	// name states the promise; invariants are its numbers in docs/reliability.md.
	name, invariants string
	find             func(ctx context.Context, f *facts) ([]string, error)
}

// checks are all promises that facts can contradict. Package history checks the
// answers, and settle checks for open work.
var checks = []check{
	{"the database keeps its invariants", "I1, I4, I6, I10, I14", brokenInvariants},
	{"a reference has one effect", "I2", referencesWithEffects},
	{"an acknowledged status was reached", "I5", lostStatuses},
	{"the last acknowledged profile is stored", "I5", lostProfiles},
	{"each event is published once", "I6", streamMistakes},
	{"each message of the warehouse is processed once", "I6", lostMessages},
	{"each broken message is a dead letter once", "I6", lostDeadLetters},
	{"the provider charged what we captured", "I7", differentCharges},
	{"orders reconcile finds the refunds that cards refused", "I1, I4, I7", otherMismatches},
	{"no job was given up", "I8", lostJobs},
	{"no key is locked and no transaction left open", "I9", openTransactions},
	{"no secret is in a log or a column where it does not belong", "I12", leakedSecrets},
	{"the audit log has each act of the administrator", "I14", unauditedActs},
}

// checkAll reports everything that contradicts a promise.
func checkAll(l *clients.Load) {
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(l.T.Context(), l.DB, snapshot, func(tx pgx.Tx) error {
		f := readFacts(l, tx)
		if f.Lossy {
			if err := f.admitLosses(l.T.Context(), &l.Counters); err != nil {
				return err
			}
		}
		for _, c := range checks {
			found, err := c.find(l.T.Context(), f)
			if err != nil {
				return err
			}
			for _, contradiction := range found {
				l.T.Errorf("%s (%s), but: %s", c.name, c.invariants, contradiction)
			}
		}
		return nil
	})
	if err != nil {
		l.T.Errorf("check: %v", err)
	}
}

// readFacts reads the inputs to the checks after all changes have ended.
func readFacts(l *clients.Load, tx pgx.Tx) *facts {
	charges, err := l.Provider.Charges(l.T.Context())
	if err != nil {
		l.T.Fatal(err)
	}
	f := &facts{
		Memory: l.Memory, db: tx, charges: charges,
		events:      natstest.Messages(l.T, l.Streams, outnats.Stream),
		messages:    natstest.Messages(l.T, l.Streams, events.Stream),
		deadLetters: natstest.Messages(l.T, l.Streams, events.DeadLetterStream),
	}
	f.logs, f.mismatches = l.Logs(), reconcile(l)
	return f
}

// texts runs a query that returns one text per row.
func (f *facts) texts(ctx context.Context, query string, args ...any) ([]string, error) {
	rows, _ := f.db.Query(ctx, query, args...) // CollectRows returns the error
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// replayedUnknowns counts keys with an unknown outcome and a later replay.
func replayedUnknowns(attempts []history.Attempt) int {
	unknown, replayed := map[history.ID]bool{}, map[history.ID]bool{}
	for _, a := range attempts {
		if a.Code == "outcome_unknown" {
			unknown[a.ID()] = true
		}
		if unknown[a.ID()] && a.Result == "reused" {
			replayed[a.ID()] = true
		}
	}
	return len(replayed)
}
