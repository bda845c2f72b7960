package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
	"example.com/orders/internal/idempotency"
)

// decodeKeyID returns the path's key, parsed like the header, in the caller's scope: no
// caller can look up another principal's key.
func decodeKeyID(r *request) (idempotency.ID, error) {
	key, err := checkedKey([]string{r.param("key")})
	if errors.Is(err, idempotency.ErrKeyRequired) {
		err = fmt.Errorf("%w: it is blank", idempotency.ErrKeyInvalid)
	}
	return idempotency.ID{Scope: r.scope, Key: key}, err
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
