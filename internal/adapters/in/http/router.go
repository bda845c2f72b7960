package httpapi

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/go-chi/chi/v5"

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

// repetition says what a request does that is sent again after its outcome was unknown.
type repetition int

const (
	// guarded: the route takes an Idempotency-Key, and a repetition gets the first response.
	guarded repetition = iota + 1
	// repeatable: a repetition changes nothing more.
	repeatable
	// unrepeatable: a repetition can change more, or is refused for what the first one did.
	unrepeatable
)

func (rt route) guarded() bool { return rt.repeat == guarded }

// publicRoute is one operation without a token.
type publicRoute struct {
	method    string
	pattern   string
	operation string
	serve     http.HandlerFunc
}

// checkRoutes returns an error unless the routes are those of the contract and each
// route with a token declares its roles.
func checkRoutes(contract *contract, routes []route, public []publicRoute) error {
	var declared []operation
	for _, rt := range routes {
		if len(rt.roles) == 0 {
			return fmt.Errorf("%s %s declares no roles (AUTH-9)", rt.method, rt.pattern)
		}
		declared = append(declared, operation{
			method: rt.method, path: rt.pattern, id: rt.operation, roles: joinRoles(rt.roles), keyRequired: rt.guarded(), keyKept: rt.guarded(),
		})
	}
	for _, rt := range public {
		declared = append(declared, operation{method: rt.method, path: rt.pattern, id: rt.operation, public: true})
	}
	return checkOperations(contract.operations, declared)
}

// router routes requests to their operations. All other requests get a problem
// document, too.
func (a *api) router(routes []route, public []publicRoute) http.Handler {
	r := chi.NewRouter()
	r.Use(a.log.request, a.traced, SecureHeaders, allowOrigins(a.CORSOrigins, routes), a.recoverPanic)
	r.NotFound(a.notFound)
	r.MethodNotAllowed(a.methodNotAllowed(r))
	for _, rt := range routes {
		r.Method(rt.method, rt.pattern, named(rt.pattern, a.endpoint(
			func(w http.ResponseWriter, r *http.Request) (*response, error) { return a.serve(rt, w, r) })))
	}
	for _, rt := range public {
		r.Method(rt.method, rt.pattern, named(rt.pattern, rt.serve))
	}
	return r
}

// named puts the pattern of a route, and what the path names, into the log.
func named(pattern string, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		entry := entryOf(r.Context())
		entry.pattern, entry.about = pattern, subjectsOfPath(r)
		next(w, r)
	}
}

func (a *api) notFound(w http.ResponseWriter, r *http.Request) {
	a.refuse(w, r, newProblem(wire.ProblemCodeNotFound, "there is no such path"))
}

// methodNotAllowed lists the methods of the path in Allow (RFC 9110, section 15.5.6).
func (a *api) methodNotAllowed(routes chi.Routes) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var pattern string
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			if match := chi.NewRouteContext(); routes.Match(match, method, r.URL.Path) {
				w.Header().Add("Allow", method)
				pattern = match.RoutePattern()
			}
		}
		a.refuseAt(w, r, pattern, newProblem(wire.ProblemCodeMethodNotAllowed, "the path does not support this method"))
	}
}

// allows reports whether one of the actor's roles may call the route.
func (rt route) allows(actor core.Actor) bool {
	return slices.ContainsFunc(rt.roles, func(role core.Role) bool { return actor.Has(role) })
}
