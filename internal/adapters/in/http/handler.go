package httpapi

import (
	"context"

	"example.com/orders/internal/core"
)

// handler serves a route in two steps. The first step, the handler itself, decodes the
// request: path, query, body and money. What it refuses has touched no idempotency key,
// no lock and no transaction, and is never stored. The second step is the use case that
// it returns. On a guarded route it runs inside the claim of the key.
type handler func(r *request) (useCase, error)

// useCase runs one decoded command or query.
type useCase func(ctx context.Context) (*success, error)

// handle returns the handler of a route, made of its two steps.
func handle[C any](
	decode func(r *request) (C, error),
	run func(ctx context.Context, actor core.Actor, command C) (*success, error),
) handler {
	return func(r *request) (useCase, error) {
		command, err := decode(r)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (*success, error) { return run(ctx, r.actor, command) }, nil
	}
}
