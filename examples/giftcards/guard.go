package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"example.com/orders/internal/idempotency"
)

// Retention of responses (AUTH-19 requires 24 to 72 hours) and replay time of refusals. A
// refused client continues under another key, so a refusal's key stays taken after that.
const (
	responseTTL = 72 * time.Hour
	refusalTTL  = 6 * time.Hour
)

// maxBody bounds a body in bytes, before anything is hashed.
const maxBody = 64 << 10

// refusal is a command error that decides the operation, so it is stored and replayed. Use it
// for 402, 409 and 422. Any other error leaves the key free: use one if the answer depends on
// the caller (401, 403), on existing resources (404), or on luck (5xx). Return database errors
// unchanged, so that the store recognises a deadlock.
type refusal struct {
	status int
	code   string
}

func (r refusal) Error() string { return r.code }

// guarded returns a handler that requires an Idempotency-Key (AUTH-19).
//
// decode turns the request into a command before the key is claimed.
//
// run executes the command in the transaction that txOf returns, and returns the response. It
// may run twice, after a rollback, so nothing leaves the database in it: no call, no message,
// no e-mail. It stores the key beside its effect under a unique index, the second line of
// defence, and looks there first.
//
// Do not guard a route whose response is a secret, such as a token, because the record keeps
// it in plain text for days. Do not guard a stream, because a record holds a whole response.
func guarded[C any](
	g idempotency.Guard, operation string,
	decode func(*http.Request, []byte) (C, error),
	run func(ctx context.Context, customer, key string, cmd C) (response any, err error),
) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		customer, ok := authenticate(r) // also before a replay
		if !ok {
			fail(w, http.StatusUnauthorized, "unauthenticated")
			return
		}
		key, err := idempotency.ParseKey(r.Header.Values("Idempotency-Key"))
		if err != nil {
			failKey(w, err)
			return
		}
		cmd, content, err := read(w, r, decode)
		if err != nil {
			failRead(w, err)
			return
		}
		request := idempotency.Request{
			// The scope is the authenticated principal, never a value that the caller chooses.
			// With tenants: NewScope(tenant, customer).
			ID:        idempotency.ID{Scope: idempotency.NewScope(customer), Key: key},
			Operation: operation, Content: content,
		}
		// A client that hangs up does not end the command: Do detaches the context, and g.Timeout
		// bounds the work.
		rec, replayed, err := g.Do(r.Context(), request, func(ctx context.Context) (idempotency.Result, error) {
			return resultOf(run(ctx, customer, key, cmd))
		})
		if err != nil {
			failGuard(w, err)
			return
		}
		write(w, rec, replayed)
	}
}

// read reads the whole body, so that a truncated request is not mistaken for another one, and
// decodes it. It hashes the command, encoded again, so that white space and member order do
// not count. A command therefore has no member that an honest retry changes: no send time,
// no signature, no trace ID.
func read[C any](w http.ResponseWriter, r *http.Request, decode func(*http.Request, []byte) (C, error)) (C, idempotency.Content, error) {
	var content idempotency.Content
	var cmd C
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return cmd, content, err
	}
	if cmd, err = decode(r, body); err != nil {
		return cmd, content, err
	}
	canonical, err := json.Marshal(cmd)
	return cmd, idempotency.NewContent(r.Method, r.URL, canonical), err
}

// resultOf returns the response to store: a command's success or its refusal. Responses are
// stored as bytes and outlive this code: tomorrow's release may replay today's response.
func resultOf(response any, err error) (idempotency.Result, error) {
	if refused, ok := errors.AsType[refusal](err); ok {
		return idempotency.Result{Response: problem(refused.status, refused.code), Refused: true, TTL: responseTTL, ReplayTTL: refusalTTL}, nil
	}
	if err != nil {
		return idempotency.Result{}, err
	}
	body, err := json.Marshal(response)
	return idempotency.Result{
		Response: idempotency.Response{Status: http.StatusCreated, ContentType: "application/json", Body: body},
		TTL:      responseTTL,
	}, err
}

// write sends a record: the same bytes to the first request and to every retry. Only status,
// Content-Type, Location and body are stored. A guarded route sets no other header, such as
// Set-Cookie, because a lost response would lose it.
func write(w http.ResponseWriter, rec idempotency.Record, replayed bool) {
	w.Header().Set("Idempotency-Key", rec.Key)
	w.Header().Set("Idempotency-Expires", rec.ReplayedUntil.UTC().Format(time.RFC3339))
	if replayed {
		w.Header().Set("Idempotent-Replayed", "true")
	}
	send(w, rec.Response)
}

func failKey(w http.ResponseWriter, err error) {
	if errors.Is(err, idempotency.ErrKeyRequired) {
		fail(w, http.StatusBadRequest, "idempotency_key_required")
		return
	}
	fail(w, http.StatusBadRequest, "idempotency_key_invalid")
}

func failRead(w http.ResponseWriter, err error) {
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		fail(w, http.StatusRequestEntityTooLarge, "body_too_large")
		return
	}
	fail(w, http.StatusUnprocessableEntity, "validation_failed")
}

// failGuard answers the errors of Guard.Do. Unknown errors are logged and not shown.
func failGuard(w http.ResponseWriter, err error) {
	switch {
	case errors.Is(err, idempotency.ErrKeyReused):
		fail(w, http.StatusConflict, "idempotency_key_reused")
	case errors.Is(err, idempotency.ErrKeySpent):
		fail(w, http.StatusConflict, "idempotency_key_spent")
	case errors.Is(err, idempotency.ErrInProgress):
		w.Header().Set("Retry-After", "1")
		fail(w, http.StatusConflict, "idempotency_in_progress")
	case errors.Is(err, errOutcomeUnknown): // neither done nor failed: the same key resolves it
		w.Header().Set("Retry-After", "1")
		fail(w, http.StatusServiceUnavailable, "outcome_unknown")
	default:
		slog.Error("guarded command failed", "error", err)
		fail(w, http.StatusInternalServerError, "internal")
	}
}

func fail(w http.ResponseWriter, status int, code string) { send(w, problem(status, code)) }

func problem(status int, code string) idempotency.Response {
	body, err := json.Marshal(map[string]any{"status": status, "code": code})
	if err != nil {
		panic("a problem is a number and a text: " + err.Error())
	}
	return idempotency.Response{Status: status, ContentType: "application/problem+json", Body: body}
}

func send(w http.ResponseWriter, resp idempotency.Response) {
	w.Header().Set("Content-Type", resp.ContentType)
	if resp.Location != "" {
		w.Header().Set("Location", resp.Location)
	}
	w.WriteHeader(resp.Status)
	_, _ = w.Write(resp.Body) // a client that is gone retries
}
