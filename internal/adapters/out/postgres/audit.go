package postgres

import (
	"context"
	"encoding/json"
	"fmt"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/adapters/out/postgres/fetch"
	"example.com/orders/internal/adapters/out/postgres/null"
	"example.com/orders/internal/core"
)

// auditLog implements [core.AuditLog].
type auditLog struct{ tx *session }

// Add writes an entry.
func (s auditLog) Add(_ context.Context, e core.AuditEntry) error {
	metadata := []byte("{}")
	if e.Metadata != nil {
		var err error
		if metadata, err = json.Marshal(e.Metadata); err != nil {
			return fmt.Errorf("encode the metadata of %s: %w", e.Action, err)
		}
	}
	e.At = s.tx.now
	return s.tx.write(addedAuditEntry{e, metadata})
}

// addedAuditEntry is an entry added by a command.
type addedAuditEntry struct {
	core.AuditEntry

	metadata []byte
}

func (e addedAuditEntry) join(b *batch) { b.audited = append(b.audited, e) }

// auditParams uses the first entry's time: a transaction has only one.
func auditParams(entries []addedAuditEntry) dbsqlc.InsertAuditEntriesParams {
	p := dbsqlc.InsertAuditEntriesParams{At: entries[0].At}
	for _, e := range entries {
		p.Actors, p.Actions = append(p.Actors, e.Actor), append(p.Actions, e.Action)
		p.Resources, p.Metadata = append(p.Resources, e.Resource), append(p.Metadata, string(e.metadata))
	}
	return p
}

// auditEntries implements [audit.Entries].
type auditEntries struct{ tx *session }

// List returns a page plus one more entry, newest first.
func (s auditEntries) List(ctx context.Context, page core.Page) ([]core.AuditEntry, error) {
	return fetch.List(ctx, s.tx, (*queries).ListAuditEntries, dbsqlc.ListAuditEntriesParams{
		BeforeTime: null.IfZeroTime(page.After.CreatedAt), BeforeID: page.After.ID, Rows: int32(page.Limit + 1),
	}, auditEntryOf)
}

func auditEntryOf(row dbsqlc.AuditLog) (core.AuditEntry, error) {
	e := core.AuditEntry{ID: row.ID, Actor: row.Actor, At: row.At.UTC(), Action: row.Action, Resource: row.Resource}
	if err := json.Unmarshal(row.Metadata, &e.Metadata); err != nil {
		return e, fmt.Errorf("read the audit log: %w", err)
	}
	return e, nil
}
