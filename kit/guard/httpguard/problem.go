package httpguard

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"example.com/orders/kit/guard"
)

// Problem is why a request was not executed. [Config.Error] writes the answer, for
// problems of the guard and for those that a command returns as an error.
type Problem struct {
	Status int
	// Code names the problem for programs, such as idempotency_key_reused.
	Code string
	// Detail explains it to people. It may be empty.
	Detail string
}

// Error returns the code and the detail.
func (p Problem) Error() string {
	if p.Detail == "" {
		return p.Code
	}
	return p.Code + ": " + p.Detail
}

// WriteProblem answers a problem as application/problem+json (RFC 9457) with the
// additional member code.
func WriteProblem(w http.ResponseWriter, _ *http.Request, p Problem) {
	body, _ := json.Marshal(struct { // texts and a number can be encoded
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
		Code   string `json:"code"`
		Detail string `json:"detail,omitempty"`
	}{"about:blank", cmp.Or(http.StatusText(p.Status), p.Code), p.Status, p.Code, p.Detail})
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_, _ = w.Write(body) // a client that is gone retries
}

// Problems of requests that claim no key.
var (
	errUnauthenticated = Problem{http.StatusUnauthorized, "unauthenticated", ""}
	errTooLarge        = Problem{http.StatusRequestEntityTooLarge, "body_too_large", ""}
	errUnreadable      = Problem{http.StatusBadRequest, "body_unreadable", "The body ended too early."}
)

var errTooManyKeys = errors.New("too many new idempotency keys")

// answer is the problem for an error.
type answer struct {
	err error
	Problem
	later bool // the same request, with the same key, may come again
}

var answers = []answer{
	{guard.ErrKeyRequired, Problem{http.StatusBadRequest, "idempotency_key_required", "Send an Idempotency-Key."}, false},
	{guard.ErrKeyInvalid, Problem{http.StatusBadRequest, "idempotency_key_invalid", ""}, false},
	{guard.ErrKeyReused, Problem{http.StatusConflict, "idempotency_key_reused", "The key belongs to another request."}, false},
	{guard.ErrKeySpent, Problem{http.StatusConflict, "idempotency_key_spent", "The request was refused. Use a new key."}, false},
	{guard.ErrInProgress, Problem{http.StatusConflict, "idempotency_in_progress", "Send the same request again."}, true},
	{guard.ErrOutcomeUnknown, Problem{http.StatusServiceUnavailable, "outcome_unknown", "Send the same request again, with the same key."}, true},
	{errTooManyKeys, Problem{http.StatusTooManyRequests, "too_many_keys", "Send the same request again later."}, true},
	{context.DeadlineExceeded, Problem{http.StatusServiceUnavailable, "timeout", "Nothing was done. Send the same request again."}, true},
}

// problemOf returns the answer to an error. Only problems that clients can solve show
// it.
func problemOf(err error) answer {
	if p, ok := errors.AsType[Problem](err); ok {
		return answer{err, p, false}
	}
	for _, a := range answers {
		if errors.Is(err, a.err) {
			if errors.Is(err, guard.ErrKeyInvalid) {
				a.Detail = err.Error()
			}
			return a
		}
	}
	return answer{err, Problem{http.StatusInternalServerError, "internal", ""}, false}
}
