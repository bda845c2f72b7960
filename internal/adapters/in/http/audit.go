package httpapi

import (
	"context"
	"net/http"

	"example.com/orders/internal/adapters/in/http/cursor"
	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
)

func (a *api) listAuditLog(ctx context.Context, actor core.Actor, page core.Page) (*success, error) {
	entries, next, err := a.Audit.ListAuditLog(ctx, actor, page)
	if err != nil {
		return nil, err
	}
	body := wire.AuditPage{Data: convertAll(entries, auditOut), NextCursor: cursor.Encode(next)}
	return &success{status: http.StatusOK, body: body}, nil
}

func auditOut(e core.AuditEntry) wire.AuditEntry {
	return wire.AuditEntry{
		ID: e.ID, Actor: e.Actor, At: e.At, Action: e.Action, Resource: e.Resource,
		Metadata: wire.AuditMetadata(e.Metadata),
	}
}
