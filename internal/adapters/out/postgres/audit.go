package postgres

import (
	"context"
	"encoding/json"
	"fmt"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/core"
)

// auditLog implements [core.AuditLog].
type auditLog struct{ t *tx }

// Add writes an entry.
func (s auditLog) Add(ctx context.Context, e core.AuditEntry) error {
	metadata := []byte("{}")
	if e.Metadata != nil {
		var err error
		if metadata, err = json.Marshal(e.Metadata); err != nil {
			return fmt.Errorf("encode the metadata of %s: %w", e.Action, err)
		}
	}
	return s.t.write(ctx, addedAuditEntry{
		Actor: e.Actor, At: s.t.now, Action: e.Action, Resource: e.Resource, Metadata: metadata,
	})
}

// addedAuditEntry is an entry that a command has added.
type addedAuditEntry dbsqlc.InsertAuditEntryParams

func (e addedAuditEntry) alone(ctx context.Context, q *dbsqlc.Queries) error {
	return q.InsertAuditEntry(ctx, dbsqlc.InsertAuditEntryParams(e))
}

func (e addedAuditEntry) join(g *group) { g.audited = append(g.audited, e) }

// auditParams takes the time from the first entry: a group has one.
func auditParams(entries []addedAuditEntry) dbsqlc.InsertAuditEntriesParams {
	p := dbsqlc.InsertAuditEntriesParams{At: entries[0].At}
	for _, e := range entries {
		p.Actors, p.Actions = append(p.Actors, e.Actor), append(p.Actions, e.Action)
		p.Resources, p.Metadata = append(p.Resources, e.Resource), append(p.Metadata, string(e.Metadata))
	}
	return p
}

// auditEntries implements [audit.Entries].
type auditEntries struct{ t *tx }

// List returns a page of the audit log and one more entry, newest first.
func (s auditEntries) List(ctx context.Context, page core.Page) ([]core.AuditEntry, error) {
	var rows []dbsqlc.AuditLog
	err := s.t.load(ctx, func(q *dbsqlc.Queries) (err error) {
		rows, err = q.ListAuditEntries(ctx, dbsqlc.ListAuditEntriesParams{
			BeforeTime: optionalTime(page.After.CreatedAt), BeforeID: page.After.ID, Rows: int32(page.Limit + 1),
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	entries := make([]core.AuditEntry, len(rows))
	for i, row := range rows {
		entries[i] = core.AuditEntry{ID: row.ID, Actor: row.Actor, At: row.At.UTC(), Action: row.Action, Resource: row.Resource}
		if err := json.Unmarshal(row.Metadata, &entries[i].Metadata); err != nil {
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
	}
	return entries, nil
}
