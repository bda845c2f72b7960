package fakestripe

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
)

// failure is an error in the Stripe format.
type failure struct {
	status      int
	Type        string  `json:"type"`
	Code        string  `json:"code,omitempty"`
	DeclineCode string  `json:"decline_code,omitempty"`
	Message     string  `json:"message,omitempty"`
	Param       string  `json:"param,omitempty"`
	Intent      *intent `json:"payment_intent,omitempty"`
}

// Error implements error.
func (f *failure) Error() string {
	return fmt.Sprintf("%d %s %s: %s", f.status, f.Type, f.Code, f.Message)
}

func (f *failure) response() (response, error) {
	return responseOf(f.status, map[string]*failure{"error": f})
}

func invalid(code, message string) *failure {
	return &failure{status: http.StatusBadRequest, Type: "invalid_request_error", Code: code, Message: message}
}

func internalError() *failure {
	return &failure{status: http.StatusInternalServerError, Type: "api_error", Message: "An unknown error occurred"}
}

// response is stored and replayed.
type response struct {
	status   int
	body     string
	replayed bool
	drop     bool // end the connection instead
}

func responseOf(status int, body any) (response, error) {
	text, err := json.Marshal(body)
	return response{status: status, body: string(text)}, err
}

// A command executes a call in the transaction that stores the response. If it returns
// an error, the transaction rolls back: Stripe also stores no response for a
// request that it did not begin to execute.
type command func(ctx context.Context, tx pgx.Tx, r *http.Request) (response, error)

// write handles a call that changes data.
func (s *Server) write(do command) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		res, err := s.runOnce(r, do)
		if err == nil && res.drop {
			panic(http.ErrAbortHandler) // ends the connection and writes no log entry
		}
		reply(w, res, err)
	}
}

// runOnce executes a key once, and returns the stored response from the second call on.
// It unlocks the key before the caller gets the response.
func (s *Server) runOnce(r *http.Request, do command) (response, error) {
	key := r.Header.Get("Idempotency-Key")
	if err := r.ParseForm(); err != nil || key == "" {
		return response{}, invalid("parameter_missing", "fakestripe needs a form and an Idempotency-Key")
	}
	if _, locked := s.running.LoadOrStore(key, true); locked {
		return response{}, &failure{
			status: http.StatusConflict, Type: "idempotency_error", Code: "idempotency_key_in_use",
			Message: "There is currently another in-progress request using this Idempotent Key",
		}
	}
	defer s.running.Delete(key)
	if res, err := s.stored(r.Context(), key, fingerprint(r)); err != nil || res.status != 0 {
		return res, err
	}
	if err := s.failFirst(r.Context(), key, behaviours[r.PostForm.Get("payment_method")]); err != nil {
		return response{}, err
	}
	// From here on, the call completes even if the caller gives up.
	return s.run(context.WithoutCancel(r.Context()), key, r, do)
}

func fingerprint(r *http.Request) []byte {
	sum := sha256.Sum256([]byte(r.Method + " " + r.URL.Path + " " + r.PostForm.Encode()))
	return sum[:]
}

// stored returns the first response under a key, or the zero response for a new key.
func (s *Server) stored(ctx context.Context, key string, request []byte) (response, error) {
	var same bool
	res := response{replayed: true}
	row := s.pool.QueryRow(ctx, `
		SELECT request = $2, status, body FROM fakestripe.response WHERE key = $1`, key, request)
	switch err := row.Scan(&same, &res.status, &res.body); {
	case errors.Is(err, pgx.ErrNoRows):
		return response{}, nil
	case err != nil:
		return response{}, err
	case !same:
		return response{}, &failure{
			status: http.StatusBadRequest, Type: "idempotency_error",
			Message: "Keys for idempotent requests can only be used with the same parameters they were first used with",
		}
	}
	return res, nil
}

func (s *Server) run(ctx context.Context, key string, r *http.Request, do command) (res response, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if res, err = do(ctx, tx, r); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			INSERT INTO fakestripe.response (key, request, status, body) VALUES ($1, $2, $3, $4)`,
			key, fingerprint(r), res.status, res.body)
		return err
	})
	return res, err
}

// A query returns the response body for a call that only reads.
type query func(ctx context.Context, r *http.Request) (any, error)

// read handles a query. It first decides due payments.
func (s *Server) read(q query) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := s.decideAndRead(r, q)
		if err != nil {
			reply(w, response{}, err)
			return
		}
		res, err := responseOf(http.StatusOK, body)
		reply(w, res, err)
	}
}

func (s *Server) decideAndRead(r *http.Request, q query) (any, error) {
	if err := s.decideDue(r.Context()); err != nil {
		return nil, err
	}
	return q(r.Context(), r)
}

func reply(w http.ResponseWriter, res response, err error) {
	if err != nil {
		f, ok := errors.AsType[*failure](err)
		if !ok {
			f = &failure{status: http.StatusInternalServerError, Type: "api_error", Message: err.Error()}
		}
		res, _ = f.response() // strings can always be encoded
	}
	w.Header().Set("Content-Type", "application/json")
	if res.replayed {
		w.Header().Set("Idempotent-Replayed", "true")
	}
	w.WriteHeader(res.status)
	_, _ = w.Write([]byte(res.body)) // a caller that is gone will retry
}

// metadataOf returns the parameters metadata[name]=value.
func metadataOf(form url.Values) map[string]string {
	metadata := map[string]string{}
	for name := range form {
		if inner, ok := strings.CutPrefix(name, "metadata["); ok {
			metadata[strings.TrimSuffix(inner, "]")] = form.Get(name)
		}
	}
	return metadata
}

// list is a page in the Stripe format.
type list[T any] struct {
	Object  string `json:"object"`
	URL     string `json:"url"`
	Data    []T    `json:"data"`
	HasMore bool   `json:"has_more"`
}

// listOf returns a page with at most limit rows. rows has one more if a next page
// follows.
func listOf[T any](r *http.Request, object string, rows []T, limit int) list[T] {
	more := len(rows) > limit
	if more {
		rows = rows[:limit]
	}
	return list[T]{Object: object, URL: r.URL.Path, Data: rows, HasMore: more}
}
