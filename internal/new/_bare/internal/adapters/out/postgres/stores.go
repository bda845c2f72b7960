package postgres

import (
	"example.com/orders/internal/core/audit"
	"example.com/orders/internal/core/entry"
)

// Entries returns the store of the use cases about entries.
func (db *DB) Entries() entry.Store { return store[entry.Tx]{db, (*session).entries} }

// Audit returns the store of the use cases about the audit log.
func (db *DB) Audit() audit.Store { return store[audit.Tx]{db, (*session).audit} }

func (t *session) entries() entry.Tx {
	return entry.Tx{
		Now: t.now, IDs: t, Entries: entries{t}, Outbox: outboxWriter{t}, AuditLog: auditLog{t}, Inbox: inbox{t},
	}
}

func (t *session) audit() audit.Tx {
	return audit.Tx{Entries: auditEntries{t}, AuditLog: auditLog{t}}
}
