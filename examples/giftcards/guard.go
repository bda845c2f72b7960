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

// How long responses are kept, and refusals replayed. AUTH-19 asks for 24 to 72 hours. A client
// that was refused goes on under another key, so the key of a refusal stays taken, too.
const (
	responseTTL = 72 * time.Hour
	refusalTTL  = 6 * time.Hour
)

// maxBody is the largest body in bytes. It is checked before anything is hashed.
const maxBody = 64 << 10

// refusal is an error of a command that is decided: the same request would be refused again,
// so the refusal is kept and replayed. Use it for 402, 409 and 422. Do not use it for what
// depends on who asks (401, 403), on what exists so far (404), or on luck (5xx): every other
// error leaves the key free. An error of the database must stay one, so that the store can
// see a deadlock.
type refusal struct {
	status int
	code   string
}

func (r refusal) Error() string { return r.code }

// guarded returns a handler that requires an Idempotency-Key (AUTH-19).
//
// decode turns the request into a command, before the key is claimed.
//
// run executes the command in the transaction that txOf returns, and returns what the client
// gets. It may run twice: the first run is rolled back. So nothing leaves the database in it:
// no call to another service, no message, no e-mail. It stores the key with its effect under
// a unique index, the second line of defence, and looks there first.
//
// Do not guard a route whose response is a secret, such as a token: the record keeps it in
// plain text for days. Nor one that streams: a response is kept whole, or not at all.
func guarded[C any](
	g idempotency.Guard, operation string,
	decode func(*http.Request, []byte) (C, error),
	run func(ctx context.Context, customer, key string, cmd C) (response any, err error),
) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		customer, ok := authenticate(r) // before a replay, too
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
			// The scope is who was authenticated, never who the request says it is from.
			// With tenants: NewScope(tenant, customer).
			ID:        idempotency.ID{Scope: idempotency.NewScope(customer), Key: key},
			Operation: operation, Content: content,
		}
		// A client that hangs up ends its wait, and not the command: Do detaches the context,
		// and g.Timeout bounds the work.
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

// read reads the body to its end, because a request that was cut short must not be taken
// for another one, and decodes it. What is hashed is the command, encoded again: white space
// and the order of members do not count. So a command has no member that an honest retry
// changes: no time of sending, no signature, no trace id.
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

// resultOf decides what is kept: the response of a command, and its refusals. They are kept
// as bytes and outlive this code: a client may get today's response from tomorrow's release,
// and no retry is encoded anew.
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

// write sends a record: the same bytes to the first request and to every retry. Status,
// Content-Type, Location and body are all that is kept. No other header is replayed, so a
// guarded route sets none: a Set-Cookie, for example, would be lost with the first response.
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

// failGuard answers the errors of Guard.Do. What is not known here may have any cause, and
// its text stays on the server.
func failGuard(w http.ResponseWriter, err error) {
	switch {
	case errors.Is(err, idempotency.ErrKeyReused):
		fail(w, http.StatusConflict, "idempotency_key_reused")
	case errors.Is(err, idempotency.ErrKeySpent):
		fail(w, http.StatusConflict, "idempotency_key_spent")
	case errors.Is(err, idempotency.ErrInProgress):
		w.Header().Set("Retry-After", "1")
		fail(w, http.StatusConflict, "idempotency_in_progress")
	case errors.Is(err, errOutcomeUnknown): // neither done nor failed: the same key tells
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
