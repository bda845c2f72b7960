package group

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"example.com/orders/internal/adapters/out/postgres/admission"
	"example.com/orders/internal/adapters/out/postgres/pgtx"
	"example.com/orders/internal/adapters/out/postgres/records"
	"example.com/orders/internal/core"
	"example.com/orders/internal/observe/panics"
	"example.com/orders/internal/observe/tracing"
	"example.com/orders/kit/guard"
)

// timeout limits a shared group's transaction.
const timeout = 10 * time.Second

// group is one run of a transaction for one or more commands. Between the second and
// third round trips, its members run one after another. Each sees the changes of
// earlier members; a refused member leaves none.
type group struct {
	ctx     context.Context //nolint:containedctx // of the transaction, not of a member
	tx      *pgtx.Tx
	batch   Batch
	members []*member
	// sent is the group's start by the local clock.
	sent time.Time
	// synchronous reports whether COMMIT waits for a standby.
	synchronous bool
	// stored holds the members with a response to store.
	stored []*member
}

// errNothingStored ends a transaction with nothing to commit.
var errNothingStored = errors.New("no member of the group has a response to store")

// lead runs the members that a lane took from the queue. It answers every member, even
// after a panic. A single member gets the lane and runs in its request's goroutine.
func (k *Executor) lead(leave func(), members []*member) {
	now := time.Now()
	for _, m := range members {
		k.observe.CommandQueued(now.Sub(m.queued))
	}
	if len(members) == 1 {
		if !members[0].resolve(outcome{leave: leave}) {
			leave()
		}
		return
	}
	defer leave()
	defer func() {
		if v := recover(); v != nil {
			err := panics.Recovered(v)
			for _, m := range members {
				m.resolve(outcome{err: fmt.Errorf("%w: %w", core.ErrOutcomeUnknown, err)})
			}
		}
	}()
	ctx, span := startSpan(members)
	defer span.End()
	for _, m := range k.findStored(ctx, members) {
		m.resolve(m.pending)
	}
	k.runTogether(ctx, members, nil)
}

// findStored prepares the replays of members whose key is stored, and returns these
// members. It asks in a storm of retries only: there, one lookup costs less than a
// transaction and its locks. If the lookup fails, the transaction finds out why.
func (k *Executor) findStored(ctx context.Context, members []*member) (found []*member) {
	if !k.retries.Likely() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	sent := time.Now()
	stored, err := records.FindStored(ctx, k.db, idsOf(members))
	if err == nil && len(stored.Records) > 0 {
		k.recent.Verify(stored.Server, sent)
	}
	for _, m := range members {
		i := slices.IndexFunc(stored.Records, func(rec guard.Record) bool { return rec.ID == m.claim.ID })
		k.retries.Note(i >= 0)
		if i < 0 {
			continue
		}
		m.pending = outcome{rec: stored.Records[i], replayed: true, done: true}
		k.remember(m.pending.rec, sent, stored.Now, m.generation)
		found = append(found, m)
	}
	return found
}

func idsOf(members []*member) []guard.ID {
	ids := make([]guard.ID, len(members))
	for i, m := range members {
		ids[i] = m.claim.ID
	}
	return ids
}

// startSpan starts a group span as a child of the first recorded member's span, with
// links to and from every member, so that each trace leads to the round trips.
func startSpan(members []*member) (context.Context, trace.Span) {
	first := slices.IndexFunc(members, func(m *member) bool { return m.span.IsRecording() })
	if first < 0 {
		return context.Background(), trace.SpanFromContext(context.Background())
	}
	parent := trace.ContextWithSpan(context.Background(), members[first].span)
	ctx, span := tracing.Start(parent, "command group", trace.SpanKindInternal)
	span.SetAttributes(attribute.Int("orders.group.size", len(members)))
	for _, m := range members {
		m.span.AddLink(trace.Link{SpanContext: span.SpanContext()})
		if m != members[first] {
			span.AddLink(trace.Link{SpanContext: m.span.SpanContext()})
		}
	}
	return ctx, span
}

// transact runs a command alone, in its request's goroutine. Instead of waiting for a
// held row, it fails.
func (k *Executor) transact(m *member, place *admission.Place, held *admission.HeldRows) error {
	var g *group
	err := k.db.Run(m.ctx, place, pgtx.MaxRuns, func(ctx context.Context, t *pgtx.Tx) error {
		g = k.begin(ctx, t, []*member{m}, held)
		if m.hadKey {
			if err := records.Await(ctx, t, m.claim.ID); err != nil {
				return err
			}
		}
		if err := k.run(g); !errors.Is(err, errNothingStored) {
			return err
		}
		return m.pending.err
	})
	if err != nil {
		m.outcome = outcome{err: err}
		return err
	}
	m.outcome = m.pending
	k.rememberPending(g, m)
	k.observe.RecordsStored(len(g.stored))
	return nil
}

// begin prepares the members for a transaction.
func (k *Executor) begin(ctx context.Context, t *pgtx.Tx, members []*member, held *admission.HeldRows) *group {
	g := &group{ctx: ctx, tx: t, members: members, sent: time.Now(), batch: k.newBatch(ctx, t, len(members) > 1)}
	for _, m := range members {
		m.begin(g.batch.Session(held))
	}
	return g
}

func (g *group) shared() bool { return len(g.members) > 1 }

// run claims the keys, loads, executes the members and queues their writes.
func (k *Executor) run(g *group) error {
	if err := k.claim(g); err != nil {
		return err
	}
	if g.shared() {
		if err := k.load(g); err != nil {
			return err
		}
	}
	for _, m := range g.claimed() {
		result, err := m.try(g, false)
		m.finish(g, result, err)
	}
	return g.write()
}

// load runs the members up to their first load, and loads for all. A member leaves if
// another command already waits for one of its rows.
func (k *Executor) load(g *group) error {
	for _, m := range g.claimed() {
		result, err := m.try(g, true)
		if m.announced() == nil { // it needed no load, or one that cannot be shared
			m.finish(g, result, err)
		}
	}
	if !k.held.Empty() {
		if err := g.batch.Look(g.ctx, sessionsOf(g.claimed())); err != nil {
			return err
		}
	}
	for _, m := range g.claimed() {
		m.rowHeld = k.held.Any(m.announced())
		m.pending.outside = m.rowHeld
	}
	return g.batch.Load(g.ctx, sessionsOf(g.claimed()))
}

func sessionsOf(members []*member) []Session {
	sessions := make([]Session, len(members))
	for i, m := range members {
		sessions[i] = m.session
	}
	return sessions
}

// claim tries to lock all keys, and looks them up. A member whose key is held or stored
// is answered at once, unless its replay must wait for the standby.
func (k *Executor) claim(g *group) error {
	claims, err := records.Take(g.ctx, g.tx, idsOf(g.members))
	if err != nil {
		if !g.shared() && g.members[0].hadKey && pgtx.LockTimedOut(err) {
			return guard.ErrInProgress
		}
		return err
	}
	k.recent.Verify(g.tx.Server, g.sent)
	g.synchronous = claims.Synchronous
	for i, m := range g.members {
		k.retries.Note(claims.Keys[i].Stored != nil && !claims.Synchronous) // no lookup answers those
		k.applyClaim(g, m, claims.Keys[i])
	}
	return nil
}

// applyClaim applies a claim: a replay, a key in progress, or a key to run with.
func (k *Executor) applyClaim(g *group, m *member, c records.Claim) {
	switch {
	case c.Stored != nil && !c.Expired:
		m.pending = outcome{rec: *c.Stored, replayed: true, done: true}
		if g.shared() && !g.synchronous {
			k.resolveOne(g, m)
		}
	case !c.Locked && m.hadKey && g.shared(): // a duplicate tries it now
		m.pending.outside = true
	case !c.Locked:
		m.pending = outcome{err: guard.ErrInProgress, done: true}
		if g.shared() {
			m.resolve(m.pending)
		}
	default:
		m.hadKey, m.replaces = true, c.Stored != nil
	}
}

// claimed returns the members that hold their key and have no outcome.
func (g *group) claimed() []*member {
	return slices.DeleteFunc(slices.Clone(g.members), func(m *member) bool { return m.pending.done || m.pending.outside })
}

// write queues the members' writes and records, to be sent with COMMIT.
func (g *group) write() error {
	if len(g.stored) == 0 {
		return g.endUnwritten()
	}
	recs := make([]guard.Record, len(g.stored))
	for i, m := range g.stored {
		recs[i] = m.pending.rec
		if m.replaces {
			if err := records.MakeRoom(g.ctx, g.tx, m.claim.ID); err != nil {
				return err
			}
		}
	}
	return errors.Join(g.batch.Write(g.ctx), records.Store(g.ctx, g.tx, recs))
}

// endUnwritten ends a group whose members all were replayed, failed or must run
// outside. Replays wait for the standby. A member that holds its key needs a rollback
// before it is answered, so that the key is free for a retry; replays hold none.
func (g *group) endUnwritten() error {
	replays := 0
	for _, m := range g.members {
		if m.pending.replayed {
			replays++
		}
	}
	if replays == len(g.members) || replays > 0 && g.synchronous {
		return g.tx.AwaitReplication(g.ctx, g.synchronous)
	}
	return errNothingStored
}

// resolve answers all members after their group has ended.
func (k *Executor) resolve(g *group) {
	k.observe.RecordsStored(len(g.stored))
	for _, m := range g.members {
		k.resolveOne(g, m)
	}
}

// resolveOne answers a member, and caches its record.
func (k *Executor) resolveOne(g *group, m *member) {
	if m.pending.unjoined {
		k.db.Observe.TransactionRestarted("not_joined")
		if m.announced() == nil { // independent of its data
			k.ungroupable.Add(m.claim.Operation)
		}
	}
	k.rememberPending(g, m)
	m.resolve(m.pending)
}

func (k *Executor) rememberPending(g *group, m *member) {
	if m.pending.err == nil && m.pending.done {
		k.remember(m.pending.rec, g.sent, g.tx.Now, m.generation)
	}
}

// remember caches a record. now is the database clock when it was sent by the local one.
func (k *Executor) remember(rec guard.Record, sent, now time.Time, generation uint64) {
	k.recent.Put(rec, time.Until(sent.Add(rec.ReplayedUntil.Sub(now))), generation)
}

// resolveUnknown answers a group whose COMMIT is in doubt. Members that wrote nothing
// keep their result.
func (g *group) resolveUnknown(err error) {
	for _, m := range g.members {
		if m.pending.outside || m.pending.err != nil {
			m.resolve(m.pending)
			continue
		}
		m.resolve(outcome{err: err})
	}
}
