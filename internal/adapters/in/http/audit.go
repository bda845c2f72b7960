package httpapi

import (
	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
)

func auditOut(e core.AuditEntry) wire.AuditEntry {
	return wire.AuditEntry{
		ID: e.ID, Actor: e.Actor, At: e.At, Action: e.Action, Resource: e.Resource,
		Metadata: wire.AuditMetadata(e.Metadata),
	}
}
