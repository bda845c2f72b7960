package postgres

import (
	"context"
	"encoding/json"
	"fmt"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/core"
)

// journal implements [core.Journal].
type journal struct{ t *tx }

// Publish puts an event into the outbox.
func (j journal) Publish(ctx context.Context, e core.Event) error {
	data, err := json.Marshal(e.Data)
	if err != nil {
		return fmt.Errorf("encode the event %s: %w", e.Type, err)
	}
	return j.t.writes().InsertEvent(ctx, dbsqlc.InsertEventParams{
		Type: e.Type, Aggregate: e.Aggregate, Data: data, CreatedAt: j.t.now,
	})
}

// Audit adds a row to the audit log.
func (j journal) Audit(ctx context.Context, e core.AuditEntry) error {
	metadata := []byte("{}")
	if e.Metadata != nil {
		var err error
		if metadata, err = json.Marshal(e.Metadata); err != nil {
			return fmt.Errorf("encode the metadata of %s: %w", e.Action, err)
		}
	}
	return j.t.writes().InsertAuditEntry(ctx, dbsqlc.InsertAuditEntryParams{
		Actor: e.Actor, At: j.t.now, Action: e.Action, Resource: e.Resource, Metadata: metadata,
	})
}

// Entries gives a page of the audit log and one more, newest first; see [audit.Log].
func (db *DB) Entries(ctx context.Context, page core.Page) ([]core.AuditEntry, error) {
	rows, err := dbsqlc.New(db.pool).ListAuditEntries(ctx, dbsqlc.ListAuditEntriesParams{
		BeforeTime: optionalTime(page.After.CreatedAt), BeforeID: page.After.ID, Rows: int32(page.Limit + 1),
	})
	if err != nil {
		return nil, unavailable(fmt.Errorf("list the audit log: %w", err))
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
