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

// failure is an error as Stripe tells it.
type failure struct {
	status      int
	Type        string  `json:"type"`
	Code        string  `json:"code,omitempty"`
	DeclineCode string  `json:"decline_code,omitempty"`
	Message     string  `json:"message,omitempty"`
	Intent      *intent `json:"payment_intent,omitempty"`
}

// Error implements error.
func (f *failure) Error() string {
	return fmt.Sprintf("%d %s %s: %s", f.status, f.Type, f.Code, f.Message)
}

func invalid(code, message string) *failure {
	return &failure{status: http.StatusBadRequest, Type: "invalid_request_error", Code: code, Message: message}
}

// answer is what a call is answered, now and when its key comes again.
type answer struct {
	status   int
	body     string
	replayed bool
	drop     bool // the caller does not get it
}

func answerOf(status int, body any) (answer, error) {
	text, err := json.Marshal(body)
	return answer{status: status, body: string(text)}, err
}

func (f *failure) answer() (answer, error) {
	return answerOf(f.status, map[string]*failure{"error": f})
}

// A command does what a call asks for, in the transaction that keeps its answer too. If it returns an error, nothing
// has happened and nothing is kept: Stripe keeps no answer of a request that it did not begin to carry out.
type command func(ctx context.Context, tx pgx.Tx, r *http.Request) (answer, error)

// write answers a call that changes something.
func (s *Server) write(do command) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		a, err := s.once(r, do)
		if err == nil && a.drop {
			panic(http.ErrAbortHandler) // which ends the connection, and logs nothing
		}
		reply(w, a, err)
	}
}

// once does what a key asks for, or finds what was answered. The key is free again before anybody learns the answer.
func (s *Server) once(r *http.Request, do command) (answer, error) {
	key := r.Header.Get("Idempotency-Key")
	if err := r.ParseForm(); err != nil || key == "" {
		return answer{}, invalid("parameter_missing", "The double wants a form and an Idempotency-Key")
	}
	if _, runs := s.running.LoadOrStore(key, true); runs {
		return answer{}, &failure{
			status: http.StatusConflict, Type: "idempotency_error", Code: "idempotency_key_in_use",
			Message: "There is currently another in-progress request using this Idempotent Key",
		}
	}
	defer s.running.Delete(key)
	if a, err := s.kept(r.Context(), key, fingerprint(r)); err != nil || a.status != 0 {
		return a, err
	}
	if err := s.stumble(r.Context(), key, behaviours[r.PostForm.Get("payment_method")]); err != nil {
		return answer{}, err
	}
	// A caller that hangs up stops nothing any more.
	return s.carryOut(context.WithoutCancel(r.Context()), key, r, do)
}

func fingerprint(r *http.Request) []byte {
	sum := sha256.Sum256([]byte(r.Method + " " + r.URL.Path + " " + r.PostForm.Encode()))
	return sum[:]
}

// kept gives the first answer of a key, or the zero answer if it is new.
func (s *Server) kept(ctx context.Context, key string, request []byte) (answer, error) {
	var same bool
	a := answer{replayed: true}
	row := s.pool.QueryRow(ctx, `SELECT request = $2, status, body FROM psp_double.answer WHERE key = $1`, key, request)
	switch err := row.Scan(&same, &a.status, &a.body); {
	case errors.Is(err, pgx.ErrNoRows):
		return answer{}, nil
	case err != nil:
		return answer{}, err
	case !same:
		return answer{}, &failure{
			status: http.StatusBadRequest, Type: "idempotency_error",
			Message: "Keys for idempotent requests can only be used with the same parameters they were first used with",
		}
	}
	return a, nil
}

func (s *Server) carryOut(ctx context.Context, key string, r *http.Request, do command) (a answer, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if a, err = do(ctx, tx, r); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO psp_double.answer (key, request, status, body) VALUES ($1, $2, $3, $4)`,
			key, fingerprint(r), a.status, a.body)
		return err
	})
	return a, err
}

// read answers a call that changes nothing. What was late by then is decided.
func (s *Server) read(query func(ctx context.Context, r *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := s.decideAndRead(r, query)
		if err != nil {
			reply(w, answer{}, err)
			return
		}
		a, err := answerOf(http.StatusOK, body)
		reply(w, a, err)
	}
}

func (s *Server) decideAndRead(r *http.Request, query func(context.Context, *http.Request) (any, error)) (any, error) {
	if err := s.decideDue(r.Context()); err != nil {
		return nil, err
	}
	return query(r.Context(), r)
}

func reply(w http.ResponseWriter, a answer, err error) {
	if err != nil {
		f, ours := errors.AsType[*failure](err)
		if !ours {
			f = &failure{status: http.StatusInternalServerError, Type: "api_error", Message: err.Error()}
		}
		a, _ = f.answer() // strings always become JSON
	}
	w.Header().Set("Content-Type", "application/json")
	if a.replayed {
		w.Header().Set("Idempotent-Replayed", "true")
	}
	w.WriteHeader(a.status)
	_, _ = w.Write([]byte(a.body)) // a caller that has hung up asks again
}

// metadataOf collects metadata[name]=value.
func metadataOf(form url.Values) map[string]string {
	metadata := map[string]string{}
	for name := range form {
		if inner, ok := strings.CutPrefix(name, "metadata["); ok {
			metadata[strings.TrimSuffix(inner, "]")] = form.Get(name)
		}
	}
	return metadata
}

// list is a page as Stripe gives it.
type list[T any] struct {
	Object  string `json:"object"`
	URL     string `json:"url"`
	Data    []T    `json:"data"`
	HasMore bool   `json:"has_more"`
}

// listOf makes a page of one row more than the page has, if there are more.
func listOf[T any](r *http.Request, object string, rows []T, limit int) list[T] {
	more := len(rows) > limit
	if more {
		rows = rows[:limit]
	}
	return list[T]{Object: object, URL: r.URL.Path, Data: rows, HasMore: more}
}
