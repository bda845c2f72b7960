package httpapi

import (
	"context"
	"errors"
	"net/http"

	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
	"example.com/orders/internal/idempotency"
)

// decodeKeyID returns the key of the path in the caller's own scope: nobody can look up
// the key of another principal. Text that cannot be a key is 404.
func decodeKeyID(r *request) (idempotency.ID, error) {
	id := idempotency.ID{Scope: r.scope, Key: r.param("key")}
	if idempotency.CheckKey(id.Key) != nil || hasCardNumber(id.Key) {
		return id, core.NotFound("idempotency key")
	}
	return id, nil
}

func (a *api) getIdempotencyKey(ctx context.Context, _ core.Actor, id idempotency.ID) (*success, error) {
	rec, found, err := a.Keys.Lookup(ctx, id)
	switch {
	case errors.Is(err, idempotency.ErrInProgress):
		return &success{
			status: http.StatusOK, header: http.Header{"Retry-After": {"1"}},
			body: wire.IdempotencyRecord{Key: id.Key, State: wire.IdempotencyStateInProgress},
		}, nil
	case err != nil:
		return nil, err
	case !found:
		return nil, core.NotFound("idempotency key")
	}
	return &success{status: http.StatusOK, body: wire.IdempotencyRecord{
		Key: rec.Key, State: wire.IdempotencyStateCompleted,
		Command: &rec.Operation, Status: &rec.Status, CreatedAt: &rec.CreatedAt, ExpiresAt: &rec.ReplayedUntil,
	}}, nil
}
