package faults

import (
	"context"

	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/adapters/in/events"
	outnats "example.com/orders/internal/adapters/out/nats"
	"example.com/orders/internal/dev/fakestripe"
	natstest "example.com/orders/internal/test/nats"
)

// facts are the inputs to the checks, read from a settled run.
type facts struct {
	*world
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

// check reports everything that contradicts a promise.
func (l *Load) check() {
	l.t.Helper()
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(l.t.Context(), l.DB, snapshot, func(tx pgx.Tx) error {
		f := l.facts(tx)
		if f.lossy {
			if err := f.admitLosses(l.t.Context(), &l.Counters); err != nil {
				return err
			}
		}
		for _, c := range checks {
			if err := l.report(c, f); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		l.t.Errorf("check: %v", err)
	}
}

// report reports contradictions to one promise.
func (l *Load) report(c check, f *facts) error {
	l.t.Helper()
	found, err := c.find(l.t.Context(), f)
	for _, contradiction := range found {
		l.t.Errorf("%s (%s), but: %s", c.name, c.invariants, contradiction)
	}
	return err
}

// facts reads the inputs to the checks after all changes have ended.
func (l *Load) facts(tx pgx.Tx) *facts {
	l.t.Helper()
	charges, err := l.Provider.Charges(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	f := &facts{
		world: l.world, db: tx, charges: charges,
		events:      natstest.Messages(l.t, l.Streams, outnats.Stream),
		messages:    natstest.Messages(l.t, l.Streams, events.Stream),
		deadLetters: natstest.Messages(l.t, l.Streams, events.DeadLetterStream),
	}
	f.logs, f.mismatches = l.logs(), l.reconcile()
	return f
}

// texts runs a query that returns one text per row.
func (f *facts) texts(ctx context.Context, query string, args ...any) ([]string, error) {
	rows, _ := f.db.Query(ctx, query, args...) // CollectRows returns the error
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
