package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/trace"

	"example.com/orders/internal/adapters/in/http/problem"
	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
	"example.com/orders/internal/observe/tracing"
	"example.com/orders/kit/guard"
	"example.com/orders/kit/guard/httpguard"
)

// front protects a command with the caller's Idempotency-Key (AUTH-19). The engine is
// in package guard; the front translates between it and HTTP:
//
//  1. Key. parseKey reads the header before the rest of the request is decoded. A
//     request that cannot be decoded never gets further, so it leaves the key free.
//  2. Request. The key owner (issuer and subject) and what the request asks for
//     (method, path, query, canonical body) become an [guard.Request].
//  3. Do. [guard.Guard.Do] claims the key and calls the use case in the
//     transaction of the claim. For a duplicate it only returns the stored record. A
//     key counts as new when the use case is called: a replay is free.
//  4. Result. A success and a final refusal are stored in that transaction. Any other
//     error rolls it back, and the key is free.
//  5. Response. The record becomes the response. Status, Content-Type, Location and
//     body are the same for the first request and for every replay. Only the
//     Idempotency headers differ.
//
// The use case does not see this. It gets the key as the id of the business operation,
// to store with the effect under a unique index. That index is the second line of
// defence: it recognises a retry that arrives after the record has expired.
type front struct {
	guard.Guard
	keys            guard.LookupStore
	ttl, refusalTTL time.Duration
}

// GuardConfig is how long the guard waits and remembers.
type GuardConfig struct {
	// Wait is how long a duplicate waits for the first request.
	Wait time.Duration
	// TTL is how long a key is kept, with a successful response. RefusalTTL is how long
	// a refusal is replayed; after that the key is spent.
	TTL        time.Duration
	RefusalTTL time.Duration
}

func newFront(keys guard.LookupStore, cfg GuardConfig) front {
	engine := guard.Guard{
		Store: keys, Wait: cfg.Wait, Timeout: commandTimeout,
		OnWait: func(ctx context.Context, waited time.Duration) { entryOf(ctx).waited = waited },
	}
	return front{Guard: engine, keys: keys, ttl: cfg.TTL, refusalTTL: cfg.RefusalTTL}
}

// parseKey returns the request's key. Every response to the request echoes it.
func parseKey(w http.ResponseWriter, r *http.Request) (string, error) {
	key, err := guard.ParseKey(r.Header.Values(httpguard.KeyHeader))
	if err == nil {
		w.Header().Set(httpguard.KeyHeader, key)
	}
	return key, err
}

// protect answers a guarded request: it calls the use case, or replays the first
// response for the key.
func (f front) protect(rt route, w http.ResponseWriter, req *request, call useCase) (resp *response, err error) {
	ctx, span := tracing.Start(req.http.Context(), "idempotency guard", trace.SpanKindInternal)
	entry := entryOf(ctx)
	defer func() { endGuard(span, entry, err) }()
	entry.key = req.key
	var done *success // nil unless the use case succeeds
	record, replayed, err := f.Do(ctx, keyedRequest(rt, req), func(ctx context.Context) (guard.Result, error) {
		done, entry.code = nil, "" // of an earlier run that was rolled back
		if err := req.admission.TakeKey(); err != nil {
			return guard.Result{}, err
		}
		result, err := call(ctx)
		if err != nil {
			return f.storeRefusal(req, err)
		}
		done = result
		return f.storeSuccess(done)
	})
	if err != nil {
		return nil, err
	}
	entry.completed(record, replayed, done)
	header := w.Header()
	header.Set("Idempotency-Result", entry.outcome)
	header.Set(httpguard.ExpiresHeader, record.ReplayedUntil.Format(time.RFC3339))
	if replayed {
		header.Set(httpguard.ReplayedHeader, "true")
	}
	return &response{
		status: record.Status, contentType: record.ContentType, location: record.Location, body: record.Body,
	}, nil
}

// keyedRequest returns the request as the engine compares it with later ones.
func keyedRequest(rt route, req *request) guard.Request {
	return guard.Request{
		ID:        guard.ID{Scope: req.scope, Key: req.key},
		Operation: rt.operation,
		Content:   ContentOf(req.http, rt.pattern, req.body),
	}
}

// ContentOf returns what a request asks for. Its fingerprint has version 1, because the
// last release knows no other.
func ContentOf(r *http.Request, pattern string, canonical []byte) guard.Content {
	return guard.NewContent(r.Method, r.URL, canonical).InVersion1(pattern)
}

// storeSuccess returns a success as it is stored.
func (f front) storeSuccess(done *success) (guard.Result, error) {
	resp, err := done.encode()
	if err != nil {
		return guard.Result{}, err
	}
	return guard.Result{Response: resp.stored(), TTL: f.ttl}, nil
}

// storeRefusal returns a final refusal as it is stored, and any other error as it is.
func (f front) storeRefusal(req *request, err error) (guard.Result, error) {
	p := problem.Of(err)
	if !p.IsFinal() {
		return guard.Result{}, err
	}
	p.Stored = true
	entry := entryOf(req.http.Context())
	entry.code = string(p.Code)
	resp := problemResponse(p, entry, problem.Instance(entry.pattern, req.http.URL))
	return guard.Result{
		Response: resp.stored(), Refused: true, TTL: max(f.ttl, f.refusalTTL), ReplayTTL: f.refusalTTL,
	}, nil
}

// outcomeOf returns the Idempotency-Result: whether this request took effect, or an
// earlier one did.
func outcomeOf(reused bool) string {
	if reused {
		return "reused"
	}
	return "created"
}

// decodeKeyID returns the key in the path, parsed like the header, in the caller's
// scope: principals can look up only their own keys.
func decodeKeyID(r *request) (guard.ID, error) {
	key, err := guard.ParseKey([]string{r.param("key")})
	if errors.Is(err, guard.ErrKeyRequired) {
		err = fmt.Errorf("%w: it is blank", guard.ErrKeyInvalid)
	}
	return guard.ID{Scope: r.scope, Key: key}, err
}

func (a *api) getIdempotencyKey(ctx context.Context, _ core.Actor, id guard.ID) (*success, error) {
	rec, found, err := a.Keys.Lookup(ctx, id)
	switch {
	case errors.Is(err, guard.ErrInProgress):
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
		Command: &rec.Operation, Status: &rec.Status,
		CreatedAt: &rec.CreatedAt, ExpiresAt: &rec.ReplayedUntil,
	}}, nil
}
