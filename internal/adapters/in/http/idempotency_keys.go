package httpapi

import (
	"context"
	"net/http"

	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
	"example.com/orders/internal/idempotency"
)

// getIdempotencyKey tells what became of a key. Everybody sees only their own: another
// principal's equal key is another key.
func (a *api) getIdempotencyKey(ctx context.Context, r *request) (*response, error) {
	id := idempotency.ID{Principal: r.principal, Key: r.param("key")}
	if checkKey(id.Key) != nil {
		return nil, core.NotFound("idempotency key") // nobody can have sent it
	}
	rec, found, err := a.Keys.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, core.NotFound("idempotency key")
	}
	return &response{status: http.StatusOK, body: wire.IdempotencyRecord{
		Key: rec.Key, Command: rec.Command, Status: rec.Status, CreatedAt: rec.CreatedAt, ExpiresAt: rec.ExpiresAt,
	}}, nil
}
