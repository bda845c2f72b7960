// Package httpapi is the way in over HTTP: tokens, roles, the idempotency guard
// (AUTH-19), and the translation between the wire and the use cases.
//
// A request passes, in this order: token (401), role (403), key (400), body (413,
// 415, 400), schema (422), guard, use case. Whatever stops it is answered with an
// RFC 9457 problem document.
package httpapi

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/rs/zerolog"

	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/audit"
	customers "example.com/orders/internal/core/customer"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/idempotency"
)

// commandTimeout bounds the work of an accepted request. The client does not: one
// that hangs up does not stop a command half way.
const commandTimeout = 10 * time.Second

// Config is what the API is made of.
type Config struct {
	Orders    *order.Service
	Payments  *payment.Service
	Customers *customers.Service
	Audit     *audit.Service
	Keys      idempotency.Store
	Tokens    *Verifier
	// Webhook is nil where cards are not accepted.
	Webhook ParseWebhook
	// Ready tells why the process cannot serve, or nil.
	Ready func(ctx context.Context) error
	Guard GuardConfig
	Log   zerolog.Logger
}

// New makes the handler of the whole API. It fails when a route declares no roles, or
// is not in the contract.
func New(cfg Config) (http.Handler, error) {
	contract, err := newContract()
	if err != nil {
		return nil, err
	}
	a := &api{Config: cfg, contract: contract, guard: guard{cfg.Keys, cfg.Guard}, log: requestLog{cfg.Log}}
	return a.router(a.routes())
}

type api struct {
	Config
	contract *contract
	guard    guard
	log      requestLog
}

// request is what a use case needs of an HTTP request, after every check that needs
// no use case.
type request struct {
	actor core.Actor
	// principal is issuer and subject: whose keys these are.
	principal string
	// key is the Idempotency-Key of a guarded request.
	key  string
	body []byte
	http *http.Request
}

// response is what a use case came to.
type response struct {
	status   int
	location string
	body     any
	// repeated tells that the operation had taken effect before.
	repeated bool
}

// answer is a response on its way out.
type answer struct {
	idempotency.Response
	header http.Header
}

// endpoint serves a route.
func (a *api) endpoint(rt route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		entryOf(r.Context()).pattern = rt.pattern
		ans, err := a.serve(rt, w, r)
		if err != nil {
			a.refuse(w, r, err)
			return
		}
		ans.write(w)
	}
}

// serve takes a request through the checks and runs it, under the guard where the
// route has one.
func (a *api) serve(rt route, w http.ResponseWriter, r *http.Request) (*answer, error) {
	req, err := a.admit(rt, r)
	if err != nil {
		return nil, err
	}
	if rt.guard {
		if req.key, err = idempotencyKey(r.Header); err != nil {
			return nil, err
		}
		w.Header().Set("Idempotency-Key", req.key)
	}
	canonical, err := a.readRequest(rt, w, req)
	if err != nil {
		return nil, err
	}
	if rt.guard {
		return a.guard.serve(rt, req, canonical)
	}
	ctx, cancel := detach(r.Context())
	defer cancel()
	resp, err := rt.handle(ctx, req)
	if err != nil {
		return nil, err
	}
	stored, err := resp.encode()
	return &answer{Response: stored}, err
}

// admit checks the token (AUTH-1) and the role (AUTH-2).
func (a *api) admit(rt route, r *http.Request) (*request, error) {
	id, err := a.Tokens.authenticate(r)
	if err != nil {
		return nil, err
	}
	entryOf(r.Context()).principal = id.actor.Subject
	if !rt.allows(id.actor) {
		return nil, newProblem(wire.ProblemCodeForbiddenRole, "none of the token's roles may do this")
	}
	return &request{actor: id.actor, principal: id.principal, http: r}, nil
}

// readRequest reads the body of a route that has one and checks it against the
// contract. The canonical form is for the fingerprint.
func (a *api) readRequest(rt route, w http.ResponseWriter, req *request) ([]byte, error) {
	if !a.contract.hasBody(rt.operation) {
		return nil, nil
	}
	body, err := readBody(w, req.http)
	if err != nil {
		return nil, err
	}
	canonical, err := a.contract.check(rt.operation, body)
	req.body = canonical
	return canonical, err
}

// detach gives work a deadline of its own in place of the client's patience.
func detach(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), commandTimeout)
}

// refuse answers with a problem document. The cause of a failure goes to the log and
// nowhere else (AUTH-18).
func (a *api) refuse(w http.ResponseWriter, r *http.Request, err error) {
	entry, p := entryOf(r.Context()), problemOf(err)
	entry.code = string(p.code)
	if problemKinds[p.code].status >= http.StatusInternalServerError {
		entry.cause = err
	}
	w.Header().Set("Cache-Control", "no-store")
	p.write(w, entry.requestID, r.URL.Path)
}

// write sends the answer.
func (ans *answer) write(w http.ResponseWriter) {
	h := w.Header()
	maps.Copy(h, ans.header)
	h.Set("Content-Type", ans.ContentType)
	if ans.Location != "" {
		h.Set("Location", ans.Location)
	}
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(ans.Status)
	_, _ = w.Write(ans.Body) // a client that is gone asks again
}

// encode gives the response as the bytes that go out, now and in every replay.
func (resp *response) encode() (idempotency.Response, error) {
	body, err := json.Marshal(resp.body)
	return idempotency.Response{
		Status: resp.status, ContentType: "application/json", Location: resp.location, Body: body,
	}, err
}

// bodyOf reads a body that has passed the contract.
func bodyOf[T any](r *request) (T, error) {
	var v T
	err := json.Unmarshal(r.body, &v)
	return v, err
}

func (r *request) param(name string) string {
	v := chi.URLParam(r.http, name)
	if decoded, err := url.PathUnescape(v); err == nil && r.http.URL.RawPath != "" {
		return decoded
	}
	return v
}
