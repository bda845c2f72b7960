// Package httpapi serves the API over HTTP. It authenticates and authorises requests,
// decodes them into commands, protects commands with the idempotency guard (AUTH-19),
// and calls the use cases of the core.
//
// A request is checked in this order: token (401), role (403), limits (429),
// Idempotency-Key (400), body (413, 415, 400), schema (422), query and path (422, 404).
// Then the use case runs, on a guarded route inside the guard. Every error becomes an
// RFC 9457 problem document.
package httpapi

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/trace"

	"example.com/orders/internal/adapters/in/http/contract"
	"example.com/orders/internal/adapters/in/http/docs"
	"example.com/orders/internal/adapters/in/http/limits"
	"example.com/orders/internal/adapters/in/http/problem"
	"example.com/orders/internal/adapters/in/http/token"
	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/audit"
	"example.com/orders/internal/core/customer"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/core/webhook"
	"example.com/orders/kit/guard"
)

// commandTimeout bounds the work for an accepted request. A client that hangs up does
// not end it earlier.
const commandTimeout = 10 * time.Second

// Config holds the dependencies and settings of the API.
type Config struct {
	Orders    *order.Service
	Payments  *payment.Service
	Customers *customer.Service
	Audit     *audit.Service
	// WebhookEndpoints has the use cases about endpoints that receive events.
	WebhookEndpoints *webhook.Service
	Keys             guard.LookupStore
	Tokens           *token.Verifier
	// TokenRejected is called with the reason for each 401.
	TokenRejected func(reason string)
	// ClientCertificate reports whether a connection has a valid client certificate. It
	// is nil where the role system needs no certificate.
	ClientCertificate func(conn *tls.ConnectionState) bool
	Limits            *limits.Limits
	// Share waits until a principal uses less than a share of the store's connections, for
	// reads or for commands without a key. The store shares out those with a key.
	Share func(ctx context.Context, principal guard.Scope, isRead bool) (release func(), err error)
	// Observe receives request events.
	Observe Observer
	// Webhooks is nil where card payments are not enabled. ProviderEvents applies the
	// events: commands that wait must not delay them.
	Webhooks       Webhooks
	ProviderEvents *payment.Service
	// WebhookEnded is called with the outcome of each webhook.
	WebhookEnded func(outcome string)
	// Started returns why no use case may run yet, or nil. It is nil for a process that
	// works with the database from the beginning.
	Started func() error
	// Ready returns why the process cannot serve requests, or nil.
	Ready func(ctx context.Context) error
	// Version is reported by the liveness check.
	Version string
	Guard   GuardConfig
	// CORSOrigins are the origins of pages that may call the API.
	CORSOrigins []string
	Log         zerolog.Logger
	// Tracer is nil if tracing is off.
	Tracer trace.Tracer
}

// New returns the API handler. It fails when a route declares no roles (AUTH-9), or
// when routes and contract differ: in an operation, the roles or whether it requires a
// key.
func New(cfg Config) (http.Handler, error) {
	spec, err := contract.Embedded()
	if err != nil {
		return nil, err
	}
	return newHandler(cfg, spec)
}

func newHandler(cfg Config, spec *contract.Contract) (_ http.Handler, err error) {
	a := &api{Config: cfg, contract: spec, front: newFront(cfg.Keys, cfg.Guard)}
	if a.docs, err = docs.New(a.notFound); err != nil {
		return nil, err
	}
	routes, public := a.routes(), a.publicRoutes()
	if err := checkRoutes(spec, routes, public); err != nil {
		return nil, err
	}
	return a.router(routes, public), nil
}

type api struct {
	Config
	contract *contract.Contract
	front    front
	docs     *docs.Docs
	// webhookBodies admits webhooks while their bodies are read.
	webhookBodies limits.Places
}

// secured returns the handler of a route that needs a token.
func (a *api) secured(rt route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		describe(r, rt.pattern).guarded = rt.guarded()
		var resp *response
		req, err := a.authorise(rt, r)
		if err == nil {
			resp, err = a.answer(rt, w, req)
		}
		a.respond(w, r, resp, err)
	}
}

// answer answers an authorised request within its principal's limits: it decodes the
// request and calls the use case, on a guarded route inside the guard.
func (a *api) answer(rt route, w http.ResponseWriter, req *request) (_ *response, err error) {
	if err := a.checkStarted(); err != nil {
		return nil, err
	}
	if req.admission, err = a.Limits.Admit(req.scope, req.actor); err != nil {
		return nil, err
	}
	defer req.admission.End() // also when the use case panics
	call, err := a.decode(rt, w, req)
	if err != nil {
		return nil, err
	}
	if rt.guarded() {
		return a.front.protect(rt, w, req, call)
	}
	return a.answerUnguarded(rt, req, call)
}

// checkStarted returns an error while no use case may run.
func (a *api) checkStarted() error {
	if a.Started == nil {
		return nil
	}
	if err := a.Started(); err != nil {
		return fmt.Errorf("%w: %w", core.ErrUnavailable, err)
	}
	return nil
}

// decode does all that needs no use case: it checks key, body, schema, path and query, and
// names everything that is invalid. The key is claimed afterwards, so that a refusal here
// leaves it free.
func (a *api) decode(rt route, w http.ResponseWriter, req *request) (useCase, error) {
	var err error
	if rt.guarded() {
		if req.key, err = parseKey(w, req.http); err != nil {
			return nil, err
		}
	}
	req.body, err = a.readRequest(rt, w, req.http)
	invalidQuery := a.contract.CheckQuery(rt.operation, req.http.URL.RawQuery)
	if err != nil {
		return nil, problem.Join(err, invalidQuery, checkPath(rt, req))
	}
	call, err := rt.handle(req)
	return call, problem.Join(invalidQuery, err)
}

// answerUnguarded calls a use case that needs no key.
func (a *api) answerUnguarded(rt route, req *request, call useCase) (*response, error) {
	ctx, cancel := detach(req.http.Context())
	defer cancel()
	release, err := a.Share(ctx, req.scope, rt.method == http.MethodGet)
	if err != nil {
		return nil, err
	}
	defer release()
	done, err := call(ctx)
	if errors.Is(err, core.ErrOutcomeUnknown) {
		return nil, fmt.Errorf("%w: %w", unknownWithoutKey(rt), err)
	}
	if err != nil {
		return nil, err
	}
	entryOf(ctx).resources.Add(done.resources)
	return done.encode()
}

// unknownWithoutKey returns the problem for an unknown outcome where no key resolves
// it. Only a request that can be repeated safely is retryable.
func unknownWithoutKey(rt route) *problem.Problem {
	p := problem.New(wire.ProblemCodeOutcomeUnknown,
		"the outcome of the request is unknown; read the resource to learn it")
	if rt.repeat == unrepeatable {
		p.Header.Del("Retry-After")
	}
	return p
}

// authorise checks the token (AUTH-1), the client certificate (AUTH-13) and the role
// (AUTH-2).
func (a *api) authorise(rt route, r *http.Request) (*request, error) {
	id, err := a.Tokens.Authenticate(r)
	if rejection, rejected := errors.AsType[*token.Rejection](err); rejected {
		entryOf(r.Context()).reason = rejection.Reason
		a.TokenRejected(rejection.Reason)
		p := problem.New(wire.ProblemCodeUnauthenticated, rejection.Detail)
		p.Header.Set("WWW-Authenticate", rejection.Challenge())
		return nil, p
	}
	if err != nil {
		return nil, err
	}
	entryOf(r.Context()).subject = id.Actor.Subject
	if a.lacksCertificate(id.Actor, r) {
		return nil, problem.New(wire.ProblemCodeForbiddenRole,
			"a token with the role system requires a client certificate")
	}
	if !id.HasRoles {
		return nil, problem.New(wire.ProblemCodeForbiddenRole,
			"the token lacks the claim with its roles; the issuer must add it")
	}
	if !rt.allows(id.Actor) {
		allowed := strings.ReplaceAll(contract.JoinRoles(rt.roles), " ", " or ")
		detail := "the operation requires the role " + allowed
		if id.NoRole != "" {
			detail += "; " + id.NoRole
		}
		return nil, problem.New(wire.ProblemCodeForbiddenRole, detail)
	}
	return &request{actor: id.Actor, scope: id.Scope, http: r}, nil
}

// lacksCertificate reports whether a caller with the role system needs a client
// certificate and lacks it. Such a caller has no other role either, so that a stolen
// service token is useless.
func (a *api) lacksCertificate(actor core.Actor, r *http.Request) bool {
	return a.ClientCertificate != nil && actor.Has(systems) && !a.ClientCertificate(r.TLS)
}

// readRequest reads the body, if the operation has one, checks it against the contract
// and returns it in canonical form.
func (a *api) readRequest(rt route, w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if !a.contract.HasBody(rt.operation) {
		return nil, nil
	}
	body, err := contract.ReadBody(w, r)
	if err != nil {
		return nil, err
	}
	return a.contract.Check(rt.operation, body)
}

// detach returns a context that the client cannot cancel, with a deadline.
func detach(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), commandTimeout)
}

// respond writes a response, unless it is nil, or a problem document for an error.
func (a *api) respond(w http.ResponseWriter, r *http.Request, resp *response, err error) {
	if err != nil {
		a.respondError(w, r, err)
	} else if resp != nil {
		resp.write(w)
	}
}

// respondError answers with a problem document. It logs the cause of a failure and never
// shows it to the client (AUTH-18).
func (a *api) respondError(w http.ResponseWriter, r *http.Request, err error) {
	a.respondErrorAt(w, r, entryOf(r.Context()).pattern, err)
}

// respondErrorAt is [api.respondError] for a path with a pattern that did not serve the
// request.
func (a *api) respondErrorAt(w http.ResponseWriter, r *http.Request, pattern string, err error) {
	entry, p := entryOf(r.Context()), problem.Of(err)
	entry.code = string(p.Code)
	if p.Status() >= http.StatusInternalServerError {
		entry.cause = err
	}
	problemResponse(p, entry, problem.Instance(pattern, r.URL)).write(w)
}
