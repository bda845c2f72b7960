package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"example.com/orders/kit/guard"
)

// Retention of responses (AUTH-19 requires 24 to 72 hours) and replay time of refusals. A
// refused client continues under a new key, so the key of a refusal stays taken after that.
const (
	responseTTL = 72 * time.Hour
	refusalTTL  = 6 * time.Hour
)

// maxBody bounds a body in bytes, before anything is hashed.
const maxBody = 64 << 10

// front is what every guarded route shares.
type front struct {
	guard.Guard
	newKeys *keyLimit
	// observe receives how each request with a key ended: "done", "replayed", or the code of the
	// problem. It writes the log line; a counter and a histogram fit as well.
	observe func(operation, outcome string, took time.Duration)
}

// reply is the response of a command that succeeded.
type reply struct {
	Status   int
	Location string // or empty
	Body     any    // may be nil, as with 204
}

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
// run executes the command in the transaction that txOf returns, and returns the reply. It may
// run twice, after a rollback, so it works on the database only: no call, no message,
// no e-mail. It stores the key with the effect under a unique index, the second line of
// defence, and looks there first.
//
// Do not guard a route that returns a secret, such as a token, because the record keeps
// it in plain text for days. Do not guard a stream, because a record holds a whole response.
//
// A client that hangs up does not end the command: Do detaches the context, and g.Timeout
// bounds the work.
func guarded[C any](
	g front, operation string,
	decode func(*http.Request, []byte) (C, error),
	run func(ctx context.Context, customer, key string, cmd C) (reply, error),
) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		customer, ok := authenticate(r) // also before a replay
		if !ok {
			fail(w, http.StatusUnauthorized, "unauthenticated")
			return
		}
		key, err := guard.ParseKey(r.Header.Values("Idempotency-Key"))
		if err != nil {
			failKey(w, err)
			return
		}
		cmd, content, err := read(w, r, decode)
		if err != nil {
			failRead(w, err)
			return
		}
		request := guard.Request{
			// The scope is the authenticated principal, never a value that the caller chooses.
			// With tenants: NewScope(tenant, customer).
			ID:        guard.ID{Scope: guard.NewScope(customer), Key: key},
			Operation: operation, Content: content,
		}
		// Only a new key runs the command, perhaps twice. A retry does not count.
		permitted := sync.OnceValue(func() bool { return g.newKeys.take(customer, time.Now()) })
		began := time.Now()
		rec, replayed, err := g.Do(r.Context(), request, func(ctx context.Context) (guard.Result, error) {
			if !permitted() {
				return guard.Result{}, errTooManyKeys
			}
			return resultOf(run(ctx, customer, key, cmd))
		})
		g.observe(operation, outcomeOf(replayed, err), time.Since(began))
		if err != nil {
			failGuard(w, err)
			return
		}
		write(w, rec, replayed)
	}
}

// keyLimit bounds the new keys of each customer, because each is a row for days. It counts in
// this process.
type keyLimit struct {
	perMinute int

	mu     sync.Mutex
	minute time.Time
	used   map[string]int
}

var errTooManyKeys = errors.New("too many new idempotency keys")

// take counts a new key and reports whether it is permitted.
func (l *keyLimit) take(customer string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if minute := now.Truncate(time.Minute); !minute.Equal(l.minute) {
		l.minute, l.used = minute, map[string]int{}
	}
	l.used[customer]++
	return l.used[customer] <= l.perMinute
}

// read reads the whole body, so that a truncated request is not mistaken for a shorter one, and
// decodes it. It hashes the command, encoded again, so that white space and member order do
// not count. A command therefore has no member that an honest retry changes: no send time,
// no signature, no trace ID.
func read[C any](w http.ResponseWriter, r *http.Request, decode func(*http.Request, []byte) (C, error)) (C, guard.Content, error) {
	var content guard.Content
	var cmd C
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return cmd, content, err
	}
	if cmd, err = decode(r, body); err != nil {
		return cmd, content, err
	}
	canonical, err := json.Marshal(cmd)
	return cmd, guard.NewContent(r.Method, r.URL, canonical), err
}

// resultOf returns the response to store: a command's success or its refusal. Responses are
// stored as bytes and outlive this code: tomorrow's release may replay today's response.
func resultOf(r reply, err error) (guard.Result, error) {
	if refused, ok := errors.AsType[refusal](err); ok {
		return guard.Result{Response: problem(refused.status, refused.code), Refused: true, TTL: responseTTL, ReplayTTL: refusalTTL}, nil
	}
	if err != nil {
		return guard.Result{}, err
	}
	resp := guard.Response{Status: r.Status, Location: r.Location}
	if r.Body != nil {
		resp.ContentType = "application/json"
		resp.Body, err = json.Marshal(r.Body)
	}
	return guard.Result{Response: resp, TTL: responseTTL}, err
}

// write sends a record: the same bytes to the first request and to every retry. Only status,
// Content-Type, Location and body are stored. A guarded route sets no other header, such as
// Set-Cookie, because a lost response would lose it.
func write(w http.ResponseWriter, rec guard.Record, replayed bool) {
	w.Header().Set("Idempotency-Key", rec.Key)
	w.Header().Set("Idempotency-Expires", rec.ReplayedUntil.UTC().Format(time.RFC3339))
	if replayed {
		w.Header().Set("Idempotent-Replayed", "true")
	}
	send(w, rec.Response)
}

func failKey(w http.ResponseWriter, err error) {
	if errors.Is(err, guard.ErrKeyRequired) {
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

// guardProblem is the response to an error of Guard.Do. retry means that the same request may
// come again, with the same key.
type guardProblem struct {
	err    error
	status int
	code   string
	retry  bool
}

var guardProblems = []guardProblem{
	{guard.ErrKeyReused, http.StatusConflict, "idempotency_key_reused", false},
	{guard.ErrKeySpent, http.StatusConflict, "idempotency_key_spent", false},
	{guard.ErrInProgress, http.StatusConflict, "idempotency_in_progress", true},
	{errOutcomeUnknown, http.StatusServiceUnavailable, "outcome_unknown", true}, // neither done nor failed
	{errTooManyKeys, http.StatusTooManyRequests, "too_many_keys", true},
}

func guardProblemOf(err error) guardProblem {
	for _, p := range guardProblems {
		if errors.Is(err, p.err) {
			return p
		}
	}
	return guardProblem{err, http.StatusInternalServerError, "internal", false}
}

// failGuard answers an error of Guard.Do. An unknown error is logged and not shown.
func failGuard(w http.ResponseWriter, err error) {
	p := guardProblemOf(err)
	if p.status == http.StatusInternalServerError {
		slog.Error("guarded command failed", "error", err)
	}
	if p.retry {
		w.Header().Set("Retry-After", "1")
	}
	fail(w, p.status, p.code)
}

func outcomeOf(replayed bool, err error) string {
	switch {
	case err != nil:
		return guardProblemOf(err).code
	case replayed:
		return "replayed"
	}
	return "done"
}

func fail(w http.ResponseWriter, status int, code string) { send(w, problem(status, code)) }

func problem(status int, code string) guard.Response {
	body, err := json.Marshal(map[string]any{"status": status, "code": code})
	if err != nil {
		panic("a problem is a number and a text: " + err.Error())
	}
	return guard.Response{Status: status, ContentType: "application/problem+json", Body: body}
}

func send(w http.ResponseWriter, resp guard.Response) {
	if resp.ContentType != "" {
		w.Header().Set("Content-Type", resp.ContentType)
	}
	if resp.Location != "" {
		w.Header().Set("Location", resp.Location)
	}
	w.WriteHeader(resp.Status)
	_, _ = w.Write(resp.Body) // a client that is gone retries
}
