// Package httpapi serves the API over HTTP. It authenticates and authorises requests,
// decodes them into commands, protects commands with the idempotency guard (AUTH-19),
// and calls the use cases of the core.
//
// A request is checked in this order: token (401), role (403), limits (429),
// Idempotency-Key (400), body (413, 415, 400), schema (422), query and path (422, 404).
// Then its use case runs, on a guarded route inside the guard. Every error becomes an
// RFC 9457 problem document.
package httpapi

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/semaphore"

	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/audit"
	customers "example.com/orders/internal/core/customer"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/idempotency"
)

// commandTimeout bounds the work of an accepted request. A client that hangs up does
// not end it earlier.
const commandTimeout = 10 * time.Second

// Config holds what the API needs.
type Config struct {
	Orders    *order.Service
	Payments  *payment.Service
	Customers *customers.Service
	Audit     *audit.Service
	Keys      idempotency.LookupStore
	Tokens    *Verifier
	// ClientCertificate reports whether a connection has a valid client certificate. It is
	// nil where the role system needs none.
	ClientCertificate func(conn *tls.ConnectionState) bool
	Limits            *Limits
	// Observe observes the requests; nil for nobody.
	Observe Observer
	// Webhooks is nil where card payments are not enabled. ProviderEvents applies its events:
	// commands that wait must not delay them.
	Webhooks       Webhooks
	ProviderEvents *payment.Service
	// WebhookEnded is called with what became of a webhook.
	WebhookEnded func(outcome string)
	// Started returns why no use case may run yet, or nil. It is nil for a process that works
	// with its database from the beginning.
	Started func() error
	// Ready returns why the process cannot serve requests, or nil.
	Ready func(ctx context.Context) error
	// Version is what the liveness check reports.
	Version string
	Guard   GuardConfig
	// CORSOrigins are the origins whose pages may call the API.
	CORSOrigins []string
	Log         zerolog.Logger
	// Tracer is nil where nothing is traced.
	Tracer trace.Tracer
}

// New returns the handler of the whole API. It fails when a route declares no roles
// (AUTH-9), or when routes and contract differ: a route that the contract does not
// have, an operation without a route, other roles, or another requirement of a key.
func New(cfg Config) (http.Handler, error) {
	contract, err := embeddedContract()
	if err != nil {
		return nil, err
	}
	return newHandler(cfg, contract)
}

func newHandler(cfg Config, contract *contract) (http.Handler, error) {
	docs, err := newDocs()
	if err != nil {
		return nil, err
	}
	if cfg.Observe == nil {
		cfg.Observe = unobserved{}
	}
	a := &api{
		Config: cfg, contract: contract, guard: newGuard(cfg.Keys, cfg.Guard), docs: docs,
		log:           requestLog{cfg.Log, cfg.Observe},
		webhookBodies: semaphore.NewWeighted(maxWebhookBodies),
	}
	routes, public := a.routes(), a.publicRoutes()
	if err := checkRoutes(contract, routes, public); err != nil {
		return nil, err
	}
	return a.router(routes, public), nil
}

type api struct {
	Config
	contract *contract
	guard    guard
	docs     docs
	log      requestLog
	// webhookBodies admits webhooks whose bodies are read.
	webhookBodies *semaphore.Weighted
}

// endpoint writes the response that serve returns, or a problem document for its error.
func (a *api) endpoint(serve func(http.ResponseWriter, *http.Request) (*response, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		resp, err := serve(w, r)
		if err != nil {
			a.refuse(w, r, err)
			return
		}
		resp.write(w)
	}
}

// serve answers a request to a route that needs a token.
func (a *api) serve(rt route, w http.ResponseWriter, r *http.Request) (*response, error) {
	entryOf(r.Context()).guarded = rt.guarded()
	req, err := a.authorise(rt, r)
	if err != nil {
		return nil, err
	}
	return a.admit(rt, w, req)
}

// refuseUntilStarted returns an error while no use case may run.
func (a *api) refuseUntilStarted() error {
	if a.Started == nil {
		return nil
	}
	if err := a.Started(); err != nil {
		return fmt.Errorf("%w: %w", core.ErrUnavailable, err)
	}
	return nil
}

// admit answers an authorised request within the limits of its principal.
func (a *api) admit(rt route, w http.ResponseWriter, req *request) (_ *response, err error) {
	if err := a.refuseUntilStarted(); err != nil {
		return nil, err
	}
	if req.admission, err = a.Limits.admit(req.scope, req.actor); err != nil {
		return nil, err
	}
	defer req.admission.end() // also when the use case panics
	return a.answer(rt, w, req)
}

// answer decodes an admitted request and calls its use case, on a guarded route
// inside the guard.
func (a *api) answer(rt route, w http.ResponseWriter, req *request) (*response, error) {
	call, err := a.decode(rt, w, req)
	if err != nil {
		return nil, err
	}
	if rt.guarded() {
		return a.guard.protect(rt, req, call)
	}
	return answerUnguarded(rt, req, call)
}

// decode does all that needs no use case: it checks key, body, schema, path and query.
// The key is claimed afterwards, so that a refusal here leaves it free.
func (a *api) decode(rt route, w http.ResponseWriter, req *request) (useCase, error) {
	var err error
	if rt.guarded() {
		if req.key, err = parseKey(w, req.http); err != nil {
			return nil, err
		}
	}
	if req.body, err = a.readRequest(rt, w, req.http); err != nil {
		return nil, err
	}
	if err := checkQuery(req.http.URL.RawQuery, a.contract.queries[rt.operation]); err != nil {
		return nil, err
	}
	return rt.handle(req)
}

// answerUnguarded calls the use case of a query, or of a command that needs no key.
func answerUnguarded(rt route, req *request, call useCase) (*response, error) {
	ctx, cancel := detach(req.http.Context())
	defer cancel()
	share := req.admission.shareFor(rt)
	if err := share.wait(ctx); err != nil {
		return nil, err
	}
	defer share.Release(1)
	done, err := call(ctx)
	if errors.Is(err, core.ErrOutcomeUnknown) {
		return nil, fmt.Errorf("%w: %w", unknownWithoutKey(rt), err)
	}
	if err != nil {
		return nil, err
	}
	entryOf(ctx).about.add(done.about)
	return done.encode()
}

// authorise checks the token (AUTH-1), the client certificate (AUTH-13) and the role
// (AUTH-2).
func (a *api) authorise(rt route, r *http.Request) (*request, error) {
	id, err := a.Tokens.authenticate(r)
	if err != nil {
		return nil, err
	}
	entryOf(r.Context()).principal = id.actor.Subject
	if a.lacksCertificate(id.actor, r) {
		return nil, newProblem(wire.ProblemCodeForbiddenRole, "a token with the role system requires a client certificate")
	}
	if !rt.allows(id.actor) {
		return nil, newProblem(wire.ProblemCodeForbiddenRole, "none of the token's roles permits this operation")
	}
	return &request{actor: id.actor, scope: id.scope, http: r}, nil
}

// lacksCertificate reports whether a caller with the role system has no client
// certificate, and needs one. Such a caller has no other role either: whoever stole the
// token of a service can do nothing with it.
func (a *api) lacksCertificate(actor core.Actor, r *http.Request) bool {
	return a.ClientCertificate != nil && actor.Has(system) && !a.ClientCertificate(r.TLS)
}

// readRequest reads the body of an operation that has one and checks it against the
// contract. It returns the canonical form.
func (a *api) readRequest(rt route, w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if !a.contract.hasBody(rt.operation) {
		return nil, nil
	}
	body, err := readBody(w, r)
	if err != nil {
		return nil, err
	}
	return a.contract.check(rt.operation, body)
}

// detach returns a context that the client cannot cancel, with a deadline of its own.
func detach(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), commandTimeout)
}

// refuse answers with a problem document. The cause of a failure is logged, and never
// shown to the client (AUTH-18).
func (a *api) refuse(w http.ResponseWriter, r *http.Request, err error) {
	a.refuseAt(w, r, entryOf(r.Context()).pattern, err)
}

// refuseAt is [api.refuse] for a path of a pattern that did not serve the request.
func (a *api) refuseAt(w http.ResponseWriter, r *http.Request, pattern string, err error) {
	entry, p := entryOf(r.Context()), problemOf(err)
	entry.code = string(p.code)
	if problemKinds[p.code].status >= http.StatusInternalServerError {
		entry.cause = err
	}
	p.response(entry, instanceOf(pattern, r.URL)).write(w)
}
