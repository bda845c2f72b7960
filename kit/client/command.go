package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Outcome describes how a command got the result.
type Outcome struct {
	// Key is the Idempotency-Key.
	Key string
	// Replayed reports whether the result comes from an earlier attempt, in this call or
	// another.
	Replayed bool
	// Expires is when the stored response expires. A later call with the same name still gets
	// the result, and never has a second effect.
	Expires time.Time
	// RequestID identifies the request in the service logs.
	RequestID string
}

// keyAge is how long after it was read a key may be sent. A second caller of the operation
// may forget the key meanwhile, and the service stores a refusal for six hours.
const keyAge = 6 * time.Hour

// command sends a request that takes effect once for each name. The key is stored before the
// first attempt; a problem's NextKey decides whether it is kept.
func command[T any](ctx context.Context, c *Client, name string, r request) (result T, _ Outcome, err error) {
	if name == "" {
		return result, Outcome{}, errors.New("an operation needs a name")
	}
	ctx, until, cancel := c.withDeadline(ctx, keyAge)
	defer cancel()
	if r.key, err = c.key(ctx, name); err != nil {
		return result, Outcome{}, fmt.Errorf("%s: %w", name, err)
	}
	r.name, r.until = name, until
	header, err := c.do(ctx, r, into(&result))
	if problem, ok := errors.AsType[*Problem](err); ok {
		err = c.follow(ctx, r, problem, err)
	}
	return result, outcomeOf(header, r.key), err
}

// follow obeys a problem's NextKey and returns the call error. Unknown values keep the
// key.
func (c *Client) follow(ctx context.Context, r request, problem *Problem, err error) error {
	switch problem.NextKey {
	case nextKeyNew:
		return errors.Join(err, c.forget(ctx, r.name, r.key))
	case nextKeyLookUp:
		if record, lookUpErr := c.GetIdempotencyKey(ctx, r.key); lookUpErr == nil {
			problem.Record = &record
		}
		return fmt.Errorf("%w; the name keeps its key, because a new one could repeat that request", err)
	}
	return err
}

func outcomeOf(header http.Header, key string) Outcome {
	expires, _ := time.Parse(time.RFC3339, header.Get("Idempotency-Expires")) // zero if it is absent
	return Outcome{
		Key:       key,
		Replayed:  header.Get("Idempotency-Result") == "reused",
		Expires:   expires,
		RequestID: header.Get("X-Request-Id"),
	}
}

// Forget forgets an operation key, so that the next call with this name is a new operation.
// If the old one took effect, there will be two effects.
func (c *Client) Forget(ctx context.Context, operation string) error {
	ctx, _, cancel := c.withDeadline(ctx, unlimited)
	defer cancel()
	key, err := c.key(ctx, operation)
	if err != nil {
		return err
	}
	return c.forget(ctx, operation, key)
}

// forget also forgets when the caller has stopped waiting, until the deadline of the call.
func (c *Client) forget(ctx context.Context, operation, key string) error {
	deadline, _ := ctx.Deadline() // see withDeadline
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
	defer cancel()
	name, formerly := c.scoped(c.config.Service, operation), c.scoped(c.formerly, operation)
	if store, ok := c.config.Keys.(adopter); ok && formerly != name {
		return store.forgetBoth(ctx, name, formerly, key)
	}
	return c.config.Keys.Forget(ctx, name, key)
}

// key returns an operation key.
func (c *Client) key(ctx context.Context, operation string) (string, error) {
	name, formerly := c.scoped(c.config.Service, operation), c.scoped(c.formerly, operation)
	if store, ok := c.config.Keys.(adopter); ok && formerly != name {
		return store.keyOfBoth(ctx, name, formerly)
	}
	return c.config.Keys.Key(ctx, name)
}

// scoped returns an operation name in a store that other services and principals may
// share.
func (c *Client) scoped(service, operation string) string {
	return fmt.Sprintf("%s %q %q", service, c.config.Principal, operation)
}
