package httpguard

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"example.com/orders/kit/guard"
)

// command runs a handler once. The request's context carries the transaction.
type command func(held *response, r *http.Request) error

// serve answers a guarded request. begin decodes it, before the key is claimed.
func (g *Guard) serve(w http.ResponseWriter, r *http.Request, operation string, begin func(*http.Request) (command, error)) {
	if r.Context().Value(heldKey{}) != nil {
		panic("httpguard: the route is guarded twice, and would wait for itself")
	}
	arrived, out := time.Now(), Outcome{Operation: operation, Code: "panic"}
	defer func() {
		out.Took = time.Since(arrived)
		g.cfg.Done(r, out)
	}()
	rec, replayed, err := g.execute(w, r, operation, begin)
	var failed *undone
	switch {
	case err == nil:
		out.Code, out.Status = codeOf(rec, replayed), rec.Status
		writeRecord(w, rec, replayed)
	case errors.As(err, &failed) && failed.held.answers():
		out.Code, out.Status, out.Err = "undone", failed.held.status, failed.cause
		failed.held.send(w)
	default:
		p := problemOf(err)
		if p.Status == http.StatusInternalServerError {
			g.cfg.Log.ErrorContext(r.Context(), "guarded command failed", "operation", operation, "error", err)
		}
		out.Code, out.Status, out.Err = p.Code, p.Status, err
		if p.later {
			w.Header().Set("Retry-After", "1")
		}
		g.cfg.Error(w, r, p.Problem)
	}
}

// execute reads the request, claims the key and runs the command, or returns the record
// of the first request.
func (g *Guard) execute(
	w http.ResponseWriter, r *http.Request, operation string, begin func(*http.Request) (command, error),
) (guard.Record, bool, error) {
	request, body, err := g.read(w, r, operation)
	if err != nil {
		return guard.Record{}, false, err
	}
	run, err := begin(withBody(r.Context(), r, body))
	if err != nil {
		return guard.Record{}, false, err
	}
	admitted := sync.OnceValue(func() bool { return g.cfg.Admit(r) })
	return g.engine.Do(r.Context(), request, func(ctx context.Context) (guard.Result, error) {
		if !admitted() {
			return guard.Result{}, errTooManyKeys
		}
		return g.run(run, withBody(ctx, r, body))
	})
}

// run runs a command and returns the result to keep, or an error that rolls it back.
func (g *Guard) run(run command, r *http.Request) (guard.Result, error) {
	held := &response{header: http.Header{}}
	err := run(held, r.WithContext(context.WithValue(r.Context(), heldKey{}, held)))
	if p, refused := errors.AsType[Problem](err); refused {
		held, err = &response{header: http.Header{}}, nil
		g.cfg.Error(held, r, p)
	}
	kept, withEffect := Kept(held.status)
	switch {
	case err != nil || held.status != 0 && !kept:
		return guard.Result{}, &undone{held, err}
	case !kept:
		return guard.Result{}, errSilent
	}
	g.drop(held, r)
	result := guard.Result{Response: held.stored(), Refused: !withEffect, TTL: g.cfg.TTL}
	if result.Refused {
		result.TTL, result.ReplayTTL = max(g.cfg.TTL, g.cfg.RefusalTTL), g.cfg.RefusalTTL
	}
	return result, nil
}

// errSilent: a framework may answer a returned error behind the guard. An implicit 200
// would keep the effect with an empty response.
var errSilent = errors.New("the handler wrote no response")

// undone is the error of a command that is rolled back. The handler may have answered.
type undone struct {
	held  *response
	cause error // may be nil
}

func (u *undone) Error() string {
	if u.cause == nil {
		return "the response is not kept: status " + strconv.Itoa(u.held.status)
	}
	return u.cause.Error()
}

func (u *undone) Unwrap() error { return u.cause }

// codeOf returns the code of a kept response.
func codeOf(rec guard.Record, replayed bool) string {
	_, withEffect := Kept(rec.Status)
	switch {
	case replayed:
		return "replayed"
	case withEffect:
		return "done"
	}
	return "refused"
}

// writeRecord sends a record: the same to the first request and to every retry.
func writeRecord(w http.ResponseWriter, rec guard.Record, replayed bool) {
	h := w.Header()
	h.Set(KeyHeader, rec.Key)
	h.Set(ExpiresHeader, rec.ReplayedUntil.UTC().Format(time.RFC3339))
	if replayed {
		h.Set(ReplayedHeader, "true")
	}
	if rec.ContentType != "" {
		h.Set("Content-Type", rec.ContentType)
	}
	if rec.Location != "" {
		h.Set("Location", rec.Location)
	}
	w.WriteHeader(rec.Status)
	_, _ = w.Write(rec.Body) // a client that is gone retries
}
