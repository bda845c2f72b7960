package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/core"
	"example.com/orders/internal/idempotency"
	"example.com/orders/internal/panics"
)

// groupTimeout bounds the transaction of a group.
const groupTimeout = 10 * time.Second

// group is one transaction for many commands. It has three round trips, as the transaction
// of one command has:
//
//  1. BEGIN, the claims of all keys and their look-up. Members whose key is stored or
//     taken leave here.
//  2. What the others want to read: for each kind one statement that locks in the global
//     order.
//  3. What they have written, one statement a kind, their records, and COMMIT.
//
// Between the second and the third, the members run one after another. Each finds what the
// one before it left. A member that is refused leaves nothing.
type group struct {
	ctx     context.Context //nolint:containedctx // of the transaction; members have their own
	tx      *tx
	members []*member
	// sent is when the group began, by the local clock.
	sent time.Time
	// synchronous reports that COMMIT waits for a standby.
	synchronous bool

	loaded
	saved
	// records are the members whose result is stored.
	records []*member
}

// errNobodyWrote ends the transaction of a group that has nothing to commit.
var errNobodyWrote = errors.New("no member of the group wrote")

// lead runs a group and leaves its lane. It answers every member, whatever happens.
func (k *Keys) lead(l *lane, members []*member) {
	defer l.leave()
	defer func() {
		if v := recover(); v != nil {
			err := panics.Recovered(v)
			for _, m := range members {
				m.settle(fate{err: fmt.Errorf("%w: %w", core.ErrOutcomeUnknown, err)})
			}
		}
	}()
	now := time.Now()
	for _, m := range members {
		k.observe.CommandQueued(now.Sub(m.queued))
	}
	ctx, span := groupSpan(members)
	defer span.End()
	if k.replays.likely() {
		k.replayStored(ctx, members)
	}
	failed := k.together(ctx, members)
	k.breaker.record(failed)
}

// replayStored answers the members whose key is stored, with one look-up: no transaction, no
// lock. Where a standby has to be waited for, that takes a transaction. If the look-up
// fails, the group will find out why.
func (k *Keys) replayStored(ctx context.Context, members []*member) {
	ctx, cancel := context.WithTimeout(ctx, groupTimeout)
	defer cancel()
	byID := make(map[idempotency.ID]*member, len(members))
	for _, m := range members {
		byID[m.claim.ID] = m
	}
	sent := time.Now()
	rows, err := dbsqlc.New(k.db.pool).FindRecords(ctx, keysOf(members))
	if err != nil {
		return
	}
	for _, row := range rows {
		if row.Expired || row.Synchronous {
			continue
		}
		rec := storedRecord(&row)
		m := byID[rec.ID]
		k.recent.verify(row.ServerStarted, sent)
		k.recent.put(rec, time.Until(sent.Add(rec.ReplayedUntil.Sub(row.Now))), m.generation)
		k.replays.record(true)
		m.settle(fate{rec: rec, replayed: true, done: true})
	}
}

// keysOf returns the keys of members, as they are looked up.
func keysOf(members []*member) dbsqlc.FindRecordsParams {
	var p dbsqlc.FindRecordsParams
	for _, m := range members {
		p.Scopes, p.Keys = append(p.Scopes, string(m.claim.Scope)), append(p.Keys, m.claim.Key)
	}
	return p
}

// together runs members in one transaction, and reports whether that failed. An error of
// the server does not name the member that caused it, so a group that fails for certain is
// split in halves, down to the members that fail by themselves. These run alone.
func (k *Keys) together(ctx context.Context, members []*member) (failed bool) {
	members = present(members)
	if len(members) == 0 {
		return false
	}
	k.observe.GroupRan(len(members))
	g := &group{members: members, sent: time.Now()}
	err := k.runGroup(ctx, g)
	switch {
	case err == nil || errors.Is(err, errNobodyWrote):
		k.pace.record(time.Since(g.sent))
		k.db.observe.RecordsStored(len(g.records))
		k.settle(g)
	case errors.Is(err, core.ErrOutcomeUnknown):
		g.settleUnknown(err)
	case !separable(err):
		for _, m := range members {
			m.settle(fate{err: err})
		}
	case len(members) == 1:
		k.settleAlone(members[0], err)
		return true
	default:
		k.observe.GroupSplit()
		half := len(members) / 2
		k.together(ctx, members[:half])
		k.together(ctx, members[half:])
		return true
	}
	return false
}

// present returns the members whose requests still wait, ready for another group.
func present(members []*member) []*member {
	var waiting []*member
	for _, m := range members {
		if m.waiting() {
			m.reset()
			waiting = append(waiting, m)
		}
	}
	return waiting
}

// separable reports whether a part of the group may succeed where the whole has failed:
// because of a row that somebody holds, a race that it lost, or a value that nobody can
// read. A database that does not work fails all members alike.
func separable(err error) bool {
	state := stateOf(err)
	return state == lockNotAvailable || state == queryCanceled || !errors.Is(err, core.ErrUnavailable)
}

// runGroup runs the transaction of a group. A connection that was dead before the
// transaction began is replaced once.
func (k *Keys) runGroup(ctx context.Context, g *group) error {
	ctx, cancel := context.WithTimeout(ctx, groupTimeout)
	defer cancel()
	place, err := k.db.enterWriters(ctx)
	if err != nil {
		return err
	}
	defer place.leave()
	run := func(ctx context.Context, t *tx) error {
		t.place = place
		return k.run(ctx, t, g)
	}
	runs := 1
	err = k.db.transactOnce(ctx, k.db.pool.Acquire, run)
	if errors.Is(err, errDeadConnection) {
		runs++
		k.db.observe.TransactionRestarted(deadConnection)
		err = k.db.transactOnce(ctx, k.db.acquireAlive, run)
	}
	k.db.observe.TransactionEnded(runs)
	return err
}

// run is what a group does in its transaction.
func (k *Keys) run(ctx context.Context, t *tx, g *group) error {
	g.ctx, g.tx = ctx, t
	if err := k.claimKeys(ctx, g); err != nil {
		return err
	}
	for _, m := range g.claimed() {
		m.announce(g)
	}
	k.leaveOut(g)
	if err := g.load(ctx); err != nil {
		return err
	}
	for _, m := range g.claimed() {
		m.execute(g)
	}
	return g.write(ctx)
}

// claimKeys tries to lock all keys, and looks them up. A member whose key is held or
// stored is answered at once, unless its replay has to wait for the standby.
func (k *Keys) claimKeys(ctx context.Context, g *group) error {
	var begun dbsqlc.BeginGroupRow
	var locked []bool
	var stored []dbsqlc.FindRecordsRow
	ids, keys := make([]int64, len(g.members)), keysOf(g.members)
	for i, m := range g.members {
		ids[i] = lockID(m.claim.ID)
	}
	err := g.tx.load(ctx,
		func(q *dbsqlc.Queries) (err error) { begun, err = q.BeginGroup(ctx, k.pace.lockTimeout()); return err },
		func(q *dbsqlc.Queries) (err error) { locked, err = q.TryLockKeys(ctx, ids); return err },
		func(q *dbsqlc.Queries) (err error) { stored, err = q.FindRecords(ctx, keys); return err })
	if err == nil {
		err = g.tx.refuseStandby(begun.Standby)
	}
	if err != nil {
		return err
	}
	k.recent.verify(begun.ServerStarted, g.sent)
	g.tx.now, g.tx.server, g.synchronous = begun.Now.UTC(), begun.ServerStarted, begun.Synchronous
	found := make(map[idempotency.ID]*dbsqlc.FindRecordsRow, len(stored))
	for i, row := range stored {
		found[idempotency.ID{Scope: idempotency.Scope(row.Scope), Key: row.Key}] = &stored[i]
	}
	for i, m := range g.members {
		row := found[m.claim.ID]
		k.replays.record(row != nil && !row.Expired)
		switch {
		case row != nil && !row.Expired:
			m.draft = fate{rec: storedRecord(row), replayed: true, done: true}
			if !g.synchronous {
				k.settleOne(g, m)
			}
		case !locked[i] && m.hadKey: // somebody tries it, and may find it taken soon
			m.draft.alone = true
		case !locked[i]:
			m.draft = fate{err: idempotency.ErrInProgress, done: true}
			m.settle(m.draft)
		default:
			m.hadKey, m.replaces = true, row != nil
		}
	}
	return nil
}

// claimed returns the members that have their key and no fate.
func (g *group) claimed() []*member {
	var left []*member
	for _, m := range g.members {
		if !m.draft.done && !m.draft.alone {
			left = append(left, m)
		}
	}
	return left
}

// leaveOut lets members run alone that want a row for which another command waits already.
func (k *Keys) leaveOut(g *group) {
	for _, m := range g.claimed() {
		m.rowHeld = k.held.any(m.wants)
		m.draft.alone = m.rowHeld
	}
}

// settle answers all members of a group that has ended.
func (k *Keys) settle(g *group) {
	for _, m := range g.members {
		k.settleOne(g, m)
	}
}

// settleOne answers a member, and remembers its record.
func (k *Keys) settleOne(g *group, m *member) {
	if m.draft.unjoined {
		k.db.observe.TransactionRestarted(notJoined)
		if m.wants == nil { // whatever its data are
			k.unsuited.add(m.claim.Operation)
		}
	}
	if m.draft.err == nil && m.draft.done {
		until := g.sent.Add(m.draft.rec.ReplayedUntil.Sub(g.tx.now))
		k.recent.put(m.draft.rec, time.Until(until), m.generation)
	}
	m.settle(m.draft)
}

// settleUnknown answers the members of a group whose COMMIT was not answered. Those that
// wrote nothing have their own result.
func (g *group) settleUnknown(err error) {
	for _, m := range g.members {
		if m.draft.alone || m.draft.err != nil {
			m.settle(m.draft)
			continue
		}
		m.settle(fate{err: err})
	}
}

// settleAlone lets a member run alone. If it waited for a row in vain, others that want
// the row do not join a group until it has ended.
func (k *Keys) settleAlone(m *member, err error) {
	f := fate{alone: true}
	m.rowHeld = stateOf(err) == lockNotAvailable
	if m.rowHeld && m.wants != nil {
		f.held = m.wants.rows()
		k.held.add(f.held)
	}
	if !m.settle(f) {
		k.held.remove(f.held)
	}
}
