// Package group runs commands with an idempotency key, one or more per transaction. It
// claims the keys, lets the stores load for all commands at once, runs the commands,
// and commits their changes with their responses.
package group

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/trace"

	"example.com/orders/internal/adapters/out/postgres/admission"
	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/adapters/out/postgres/lanes"
	"example.com/orders/internal/adapters/out/postgres/pgtx"
	"example.com/orders/internal/adapters/out/postgres/records"
	"example.com/orders/internal/observe/tracing"
	"example.com/orders/kit/guard"
)

// Batch holds the data for one transaction: its commands load together and write
// together. The stores implement it.
type Batch interface {
	// Session returns a session for one command. Outside a shared batch, its loads fail
	// with [pgtx.ErrRowHeld] if they want a held row; nil lets them wait.
	Session(held *admission.HeldRows) Session
	// Look finds rows that the sessions want and have not named, without locks.
	Look(ctx context.Context, announced []Session) error
	// Load loads the rows that the sessions announced, in one round trip.
	Load(ctx context.Context, announced []Session) error
	// Write queues all kept changes.
	Write(ctx context.Context) error
}

// Session is one command's view of a batch.
type Session interface {
	// Bind returns a context whose stores use this session, for one run of the command,
	// and drops the previous run's changes. In a shared batch, the first load of the
	// first run only announces its rows: it fails, and the command runs again after the
	// batch has loaded them.
	Bind(ctx context.Context) context.Context
	// Announced names the rows that the first load locks, as far as known, or nil if it was
	// not announced.
	Announced() []string
	// Blocked names those of them for which a load that reached its lock timeout may
	// have waited.
	Blocked() []string
	// Keep adds the changes to the batch, where later commands find them. It returns
	// ErrNotJoined if the batch has not locked the rows.
	Keep() error
	// End ends the run: its stores return errors afterwards.
	End()
}

// ErrNotJoined reports that a command reads or changes rows that the batch has not
// loaded for it. It cannot share a transaction.
var ErrNotJoined = errors.New("the command cannot be joined with others")

// Executor implements [guard.LookupStore]: the SQL half of AUTH-19.
//
// One transaction claims the key, runs the command, and stores its response. It always
// has three round trips:
//
//  1. BEGIN, the claim and the lookup. The claim tries an advisory lock and never waits
//     for it, so that a duplicate learns at once that it is second and releases its
//     connection.
//  2. The command's reads and row locks.
//  3. The command's writes, the record, and COMMIT.
//
// If two transactions ever claimed the same key, the primary key on idempotency_record
// would decide. A crash at any moment leaves nothing to clean up: the server releases
// the lock and rolls back.
//
// Commands that have to wait anyway share a transaction; see [lanes.Lanes]. A command
// alone is a group of one: its loads are answered at once, so it runs once and may load
// repeatedly.
type Executor struct {
	db          *pgtx.DB
	observe     Observer
	recent      *records.Recent
	newBatch    func(ctx context.Context, t *pgtx.Tx, shared bool) Batch
	lanes       *lanes.Lanes[*member] // nil if all commands run outside lanes
	inFlight    lanes.InFlight
	held        *admission.HeldRows
	ungroupable lanes.Ungroupable
	retries     lanes.RetryPredictor
}

// NewExecutor returns the guard's store.
func NewExecutor(
	db *pgtx.DB, cfg Config, recent *records.Recent, newBatch func(ctx context.Context, t *pgtx.Tx, shared bool) Batch,
) *Executor {
	k := &Executor{db: db, observe: cfg.Observe, recent: recent, newBatch: newBatch, held: &db.Places.Held}
	if k.observe == nil {
		k.observe = Unobserved{}
	}
	db.Places.Reserve(cfg.Lanes)
	if cfg.Lanes > 0 {
		k.lanes = lanes.New(cfg.Lanes, k.lead)
	}
	return k
}

// Hold makes commands queue until release is called, for tests; see [lanes.Lanes.Hold].
func (k *Executor) Hold(n int) (release func(), held bool) { return k.lanes.Hold(n) }

// Waiting returns the number of queued commands.
func (k *Executor) Waiting() int { return k.lanes.Waiting() }

// Idle reports whether no command is running or has left a key, a share or a mark
// behind, for tests.
func (k *Executor) Idle() bool { return k.inFlight.Empty() && k.db.Places.Idle() }

// Execute claims the key, runs the command and stores its result; see
// [guard.Store].
//
// A command runs at once in a free lane. If all lanes are taken, it queues and joins a
// group. A key that this process is working on is in progress: the database need not be
// asked, and no group has it twice.
func (k *Executor) Execute(
	ctx context.Context, c guard.Claim, run guard.Command,
) (guard.Record, bool, error) {
	rec, replayed, generation := k.recent.Get(c.ID)
	if replayed {
		return rec, true, nil
	}
	if err := k.db.Places.Refused(); err != nil {
		return records.Lookup(ctx, k.db, c.ID, err) // duplicates are still answered
	}
	if !k.inFlight.Enter(c.ID) {
		return guard.Record{}, false, guard.ErrInProgress
	}
	defer k.inFlight.Leave(c.ID)
	m := &member{ctx: ctx, claim: c, run: run, generation: generation}
	if k.lanes == nil || k.ungroupable.Has(c.Operation) {
		k.runOutside(m)
	} else {
		k.runInLane(m)
	}
	return m.outcome.rec, m.outcome.replayed, m.outcome.err
}

// runInLane runs the command alone in a lane or in a group. If the command must wait
// for a row or cannot share a transaction, it continues outside the lanes.
func (k *Executor) runInLane(m *member) {
	ctx := m.ctx
	m.answered, m.queued = make(chan struct{}), time.Now()
	m.ctx, m.span = tracing.Start(ctx, "group member", trace.SpanKindInternal) // sent only if it ends
	leave, entered := k.lanes.Enter(m.claim.Scope, m)
	if !entered {
		m.wait()
		m.span.End()
		leave = m.outcome.leave
	}
	m.ctx = ctx
	if leave != nil {
		defer leave()
		if len(k.findStored(ctx, []*member{m})) > 0 {
			m.outcome = m.pending
			return
		}
		err := k.transactInLane(m)
		if !errors.Is(err, pgtx.ErrRowHeld) {
			return
		}
		leave()
		m.rowHeld, m.outcome = true, outcome{outside: true}
		if pgtx.LockTimedOut(err) { // otherwise, the row has its mark
			m.outcome.marked = m.session.Blocked()
			k.held.Add(m.outcome.marked)
		}
	}
	if m.outcome.outside {
		defer k.held.Remove(m.outcome.marked)
		k.runOutside(m)
	}
}

// transactInLane runs a command alone in a lane.
func (k *Executor) transactInLane(m *member) error {
	place, err := k.db.Places.InLane(m.ctx)
	if err != nil {
		m.outcome = outcome{err: err}
		return err
	}
	defer place.Leave()
	return k.transact(m, place, k.held)
}

// runOutside runs a command outside the lanes. If one of its rows is held for long, it
// waits without a connection until it may wait for the row.
func (k *Executor) runOutside(m *member) {
	err := k.transactOutside(m)
	if errors.Is(err, pgtx.ErrRowHeld) {
		m.rowHeld = true
		_ = k.transactOutside(m) // its error is the member's
	}
}

// transactOutside runs a command once there is a place for it. If that takes long, a
// lookup detects duplicates: to be replayed or to wait for the first request they need
// no place, and they should not queue behind other commands.
func (k *Executor) transactOutside(m *member) error {
	soon, cancel := context.WithTimeout(m.ctx, lookAfter)
	place, err := k.db.Places.Outside(soon, m.claim.Scope, m.rowHeld)
	cancel()
	if err != nil {
		rec, found, err := records.Lookup(m.ctx, k.db, m.claim.ID, nil)
		if m.hadKey && errors.Is(err, guard.ErrInProgress) {
			err = nil // a duplicate tries the key; this is the first request
		}
		if err == nil && !found {
			place, err = k.db.Places.Outside(m.ctx, m.claim.Scope, m.rowHeld)
		}
		if found || err != nil {
			m.outcome = outcome{rec: rec, replayed: found, err: err}
			return err
		}
	}
	defer place.Leave()
	return k.transact(m, place, nil)
}

// lookAfter is how long a command waits for a place before its key is looked up: many
// times an unblocked command's duration.
const lookAfter = 100 * time.Millisecond

// Lookup returns a key's record; see [guard.LookupStore]. A command waiting in
// this process counts as running, although it may not hold its lock yet.
func (k *Executor) Lookup(ctx context.Context, id guard.ID) (rec guard.Record, found bool, err error) {
	working := k.inFlight.Has(id)
	rec, found, err = records.Lookup(ctx, k.db, id, nil)
	if err == nil && !found && working {
		err = guard.ErrInProgress
	}
	return rec, found, err
}

// DeleteExpired deletes up to limit expired records, oldest first, and returns their
// number. It skips rows locked by other transactions.
func (k *Executor) DeleteExpired(ctx context.Context, limit int) (int, error) {
	var n int64
	err := k.db.ExecOnce(ctx, pgtx.Into(&n, (*dbsqlc.Queries).DeleteExpiredRecords, int32(limit)))
	return int(n), pgtx.Failed("delete expired idempotency records", err)
}

// maxCounted limits record counts for metrics.
const maxCounted = 10_000

// Expired returns the number of expired records not yet deleted, at most maxCounted.
func (k *Executor) Expired(ctx context.Context) (int64, error) {
	n, err := dbsqlc.New(k.db.Pool()).CountExpiredRecords(ctx, maxCounted)
	return n, pgtx.Failed("count expired idempotency records", err)
}
