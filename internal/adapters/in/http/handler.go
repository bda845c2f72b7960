package httpapi

import (
	"context"
	"net/http"
	"net/url"

	"github.com/go-chi/chi/v5"

	"example.com/orders/internal/adapters/in/http/limits"
	"example.com/orders/internal/adapters/in/http/problem"
	"example.com/orders/internal/core"
	"example.com/orders/internal/strictjson"
	"example.com/orders/kit/guard"
)

// handler serves a route in two steps. The handler itself decodes the request: path,
// query, body and money. These refusals have touched no idempotency key, no lock and no
// transaction, and are never stored. The use case that it returns is the second step.
// On a guarded route it runs inside the claim of the key.
type handler func(r *request) (useCase, error)

// useCase runs one decoded command or query.
type useCase func(ctx context.Context) (*success, error)

// handle returns a handler from the two steps.
func handle[C any](
	decode func(r *request) (C, error),
	run func(ctx context.Context, actor core.Actor, c C) (*success, error),
) handler {
	return func(r *request) (useCase, error) {
		c, err := decode(r)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (*success, error) { return run(ctx, r.actor, c) }, nil
	}
}

// command returns the handler for a use case that takes a key and reports whether the
// operation had taken effect before.
func command[C, R any](
	decode func(r *request) (C, error),
	run func(ctx context.Context, actor core.Actor, c C) (result R, repeated bool, err error),
	show func(R) *success,
) handler {
	return func(r *request) (useCase, error) {
		c, err := decode(r)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (*success, error) {
			result, repeated, err := run(ctx, r.actor, c)
			if err != nil {
				return nil, err
			}
			done := show(result)
			done.repeated = repeated
			return done, nil
		}, nil
	}
}

// list returns the handler for a list with filters. It shows each item.
func list[F, R, S any](
	decode func(r *request) (F, error),
	run func(ctx context.Context, actor core.Actor, filter F, page core.Page) ([]R, *core.Position, error),
	show func(R) S,
) handler {
	return func(r *request) (useCase, error) {
		page, invalidPage := decodePage(r)
		call, err := handle(decode, func(ctx context.Context, actor core.Actor, filter F) (*success, error) {
			found, next, err := run(ctx, actor, filter, page)
			return showPage(found, next, show), err
		})(r)
		return call, problem.Join(err, invalidPage)
	}
}

// listAll returns the handler for a list that has no filters.
func listAll[R, S any](
	run func(ctx context.Context, actor core.Actor, page core.Page) ([]R, *core.Position, error),
	show func(R) S,
) handler {
	return handle(decodePage, func(ctx context.Context, actor core.Actor, page core.Page) (*success, error) {
		found, next, err := run(ctx, actor, page)
		return showPage(found, next, show), err
	})
}

// showPage shows a page. The contract names a schema for each type of item.
func showPage[R, S any](found []R, next *core.Position, show func(R) S) *success {
	return &success{status: http.StatusOK, body: struct {
		Data       []S     `json:"data"`
		NextCursor *string `json:"next_cursor"`
	}{convertAll(found, show), encodeCursor(next)}}
}

// query returns the handler for any other use case with a result.
func query[C, R any](
	decode func(r *request) (C, error),
	run func(ctx context.Context, actor core.Actor, c C) (R, error),
	show func(R) *success,
) handler {
	return handle(decode, func(ctx context.Context, actor core.Actor, c C) (*success, error) {
		result, err := run(ctx, actor, c)
		if err != nil {
			return nil, err
		}
		return show(result), nil
	})
}

// remove returns the handler for a use case that deletes.
func remove[C any](
	decode func(r *request) (C, error),
	run func(ctx context.Context, actor core.Actor, c C) error,
) handler {
	return handle(decode, func(ctx context.Context, actor core.Actor, c C) (*success, error) {
		return &success{status: http.StatusNoContent}, run(ctx, actor, c)
	})
}

// request is an HTTP request after the checks of token, role, key and body.
type request struct {
	http  *http.Request
	actor core.Actor
	// scope is the principal, issuer and subject of the token: the owner of the
	// idempotency keys.
	scope guard.Scope
	// admission counts the request within the principal's limits.
	admission *limits.Admission
	// key is a guarded request's Idempotency-Key.
	key string
	// body is canonical JSON (RFC 8785), nil where the operation has no body.
	body []byte
}

// param returns a path parameter, unescaped.
func (r *request) param(name string) string {
	v := chi.URLParam(r.http, name)
	if decoded, err := url.PathUnescape(v); err == nil && r.http.URL.RawPath != "" {
		return decoded
	}
	return v
}

// bodyOf decodes a body that has passed the schema of the operation.
func bodyOf[T any](r *request) (T, error) { return strictjson.Decode[T](r.body) }
