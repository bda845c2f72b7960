package postgres

import (
	"context"
	"errors"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
)

// change is what a member of a group writes with one call of a store.
type change interface {
	// join adds the change to those of the group.
	join(g *group)
}

// rowChange is a change that has two forms: one for many rows, and a cheaper one for a
// command that runs alone.
type rowChange interface {
	change
	// alone writes the change.
	alone(ctx context.Context, q *dbsqlc.Queries) error
}

// write writes a change: in a group, together with those of the other members.
func (t *tx) write(ctx context.Context, c rowChange) error {
	if t.member == nil {
		return c.alone(ctx, t.writes())
	}
	t.member.changes = append(t.member.changes, c)
	return nil
}

// saved is what the members of a group have changed.
type saved struct {
	savedRows
	events  []addedEvent
	audited []addedAuditEntry
	// statements are the writes without a form for many rows.
	statements []statement
}

// join adds the changes of a member that has succeeded.
func (g *group) join(m *member) {
	before := len(g.statements)
	for _, c := range m.changes {
		c.join(g)
	}
	if len(g.statements) > before {
		g.wroteStatements(m)
	}
}

// join keeps a write that has no form for many rows.
func (s statement) join(g *group) { g.statements = append(g.statements, s) }

// write queues the writes of all members, so that they leave with COMMIT. If nobody wrote,
// it ends the transaction.
func (g *group) write(ctx context.Context) error {
	if len(g.records) == 0 {
		return g.endUnwritten(ctx)
	}
	q := g.tx.writes()
	return errors.Join(
		g.writeRows(ctx, q), g.writeEvents(ctx, q), g.writeAudit(ctx, q), g.writeRecords(ctx, q))
}

// endUnwritten ends a group whose members are all replayed, failed or left to run alone.
func (g *group) endUnwritten(ctx context.Context) error {
	replays := 0
	for _, m := range g.members {
		if m.draft.replayed {
			replays++
		}
	}
	if replays == len(g.members) || replays > 0 && g.synchronous {
		return g.tx.endReplay(ctx, g.synchronous)
	}
	return errNobodyWrote // and nobody holds a key when the others are answered or run alone
}

func (g *group) writeEvents(ctx context.Context, q *dbsqlc.Queries) error {
	if len(g.events) == 0 {
		return nil
	}
	return q.InsertEvents(ctx, eventsParams(g.events))
}

func (g *group) writeAudit(ctx context.Context, q *dbsqlc.Queries) error {
	if len(g.audited) == 0 {
		return nil
	}
	return q.InsertAuditEntries(ctx, auditParams(g.audited))
}

func (g *group) writeRecords(ctx context.Context, q *dbsqlc.Queries) error {
	for _, m := range g.records {
		if m.replaces {
			if err := g.tx.deleteExpired(ctx, m.claim.ID); err != nil {
				return err
			}
		}
	}
	if len(g.records) == 1 {
		return g.tx.insertRecord(ctx, g.records[0].draft.rec)
	}
	return q.InsertRecords(ctx, recordsParams(g.records))
}

// recordsParams takes the time of creation from the first record: a group has one.
func recordsParams(members []*member) dbsqlc.InsertRecordsParams {
	p := dbsqlc.InsertRecordsParams{CreatedAt: members[0].draft.rec.CreatedAt}
	for _, m := range members {
		rec := m.draft.rec
		p.Scopes, p.Keys = append(p.Scopes, string(rec.Scope)), append(p.Keys, rec.Key)
		p.Fingerprints, p.Operations = append(p.Fingerprints, []byte(rec.Fingerprint)), append(p.Operations, rec.Operation)
		p.Statuses, p.ContentTypes = append(p.Statuses, int16(rec.Status)), append(p.ContentTypes, rec.ContentType)
		p.Locations, p.Bodies = append(p.Locations, rec.Location), append(p.Bodies, notNull(rec.Body))
		p.ExpiresAt, p.ReplayedFor = append(p.ExpiresAt, rec.ExpiresAt), append(p.ReplayedFor, replayedFor(rec))
	}
	return p
}
