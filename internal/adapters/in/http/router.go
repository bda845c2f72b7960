package httpapi

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/go-chi/chi/v5"

	"example.com/orders/internal/adapters/in/http/contract"
	"example.com/orders/internal/adapters/in/http/cors"
	"example.com/orders/internal/adapters/in/http/problem"
	"example.com/orders/internal/adapters/in/http/resources"
	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
)

// route is one operation that needs a token: where it is, who may call it (AUTH-2,
// AUTH-9), and whether it needs an Idempotency-Key (AUTH-19). The contract says the
// same; see [checkRoutes].
type route struct {
	method    string
	pattern   string
	operation string
	repeat    repetition
	roles     []core.Role
	handle    handler
}

// repetition is the effect of repeating a request after an unknown outcome.
type repetition int

const (
	// guarded: the route takes an Idempotency-Key, and a repetition gets the first response.
	guarded repetition = iota + 1
	// repeatable: a repetition has no further effect.
	repeatable
	// unrepeatable: a repetition can change more, or is refused because of the first
	// one.
	unrepeatable
)

func (rt route) guarded() bool { return rt.repeat == guarded }

// publicRoute is one operation that needs no token.
type publicRoute struct {
	method    string
	pattern   string
	operation string
	answer    func(w http.ResponseWriter, r *http.Request) (*response, error)
}

// checkRoutes returns an error unless the routes are the contract's and each route with
// a token declares roles.
func checkRoutes(spec *contract.Contract, routes []route, public []publicRoute) error {
	var declared []contract.Operation
	for _, rt := range routes {
		if len(rt.roles) == 0 {
			return fmt.Errorf("%s %s declares no roles (AUTH-9)", rt.method, rt.pattern)
		}
		declared = append(declared, contract.Operation{
			Method: rt.method, Path: rt.pattern, ID: rt.operation, Roles: contract.JoinRoles(rt.roles),
			KeyRequired: rt.guarded(), KeyKept: rt.guarded(),
		})
	}
	for _, rt := range public {
		declared = append(declared, contract.Operation{
			Method: rt.method, Path: rt.pattern, ID: rt.operation, Public: true,
		})
	}
	return spec.CheckOperations(declared)
}

// router routes requests to their operations. All other requests also get a problem
// document.
func (a *api) router(routes []route, public []publicRoute) http.Handler {
	r := chi.NewRouter()
	r.Use(a.instrumented, cors.Allow(a.CORSOrigins, methodsOf(routes)))
	r.NotFound(a.notFound)
	r.MethodNotAllowed(a.methodNotAllowed(r))
	for _, rt := range routes {
		serve(r, rt.method, rt.pattern, a.secured(rt))
	}
	for _, rt := range public {
		serve(r, rt.method, rt.pattern, a.public(rt))
	}
	return r
}

// serve registers a handler. One for GET also serves HEAD (RFC 9110, section 9.1): the
// server omits the body.
func serve(r chi.Router, method, pattern string, handler http.Handler) {
	r.Method(method, pattern, handler)
	if method == http.MethodGet {
		r.Method(http.MethodHead, pattern, handler)
	}
}

// public returns the handler of a route that needs no token.
func (a *api) public(rt publicRoute) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		describe(r, rt.pattern)
		resp, err := rt.answer(w, r)
		a.respond(w, r, resp, err)
	}
}

// getDocs lets the documentation write the responses.
func (a *api) getDocs(w http.ResponseWriter, r *http.Request) (*response, error) {
	a.docs.ServeHTTP(w, r)
	return nil, nil
}

func describe(r *http.Request, pattern string) *logEntry {
	entry := entryOf(r.Context())
	entry.pattern, entry.resources = pattern, resources.OfPath(r)
	return entry
}

func (a *api) notFound(w http.ResponseWriter, r *http.Request) {
	a.respondError(w, r, problem.New(wire.ProblemCodeNotFound, "there is no such path"))
}

// methodNotAllowed lists the path's methods in Allow (RFC 9110, section 15.5.6).
func (a *api) methodNotAllowed(routes chi.Routes) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var pattern string
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} {
			if match := chi.NewRouteContext(); routes.Match(match, method, r.URL.Path) {
				w.Header().Add("Allow", method)
				pattern = match.RoutePattern()
			}
		}
		a.respondErrorAt(w, r, pattern,
			problem.New(wire.ProblemCodeMethodNotAllowed, "the path does not support this method"))
	}
}

// allows reports whether one of the actor's roles may call the route.
func (rt route) allows(actor core.Actor) bool {
	return slices.ContainsFunc(rt.roles, func(role core.Role) bool { return actor.Has(role) })
}
