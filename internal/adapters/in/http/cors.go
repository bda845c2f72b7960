package httpapi

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rs/cors"
)

// preflightAge is how long a browser may cache a preflight response.
const preflightAge = 10 * time.Minute

// webhooks is the path prefix that no page calls.
const webhooks = "/webhooks/"

// allowOrigins returns the middleware that lets pages with these origins call the API
// and read every response (CORS). Without origins it does nothing, and browsers refuse
// all other pages.
func allowOrigins(origins []string, routes []route) func(http.Handler) http.Handler {
	if len(origins) == 0 { // the library would take this for every origin
		return func(next http.Handler) http.Handler { return next }
	}
	handler := cors.New(cors.Options{
		AllowedOrigins: origins,
		AllowedMethods: methodsOf(routes),
		AllowedHeaders: []string{"Authorization", "Content-Type", "Idempotency-Key", "If-Match"},
		ExposedHeaders: []string{
			"ETag", "Idempotency-Expires", "Idempotency-Key", "Idempotency-Result", "Idempotent-Replayed",
			"Location", "Retry-After", "WWW-Authenticate", "X-Request-Id",
		},
		MaxAge: int(preflightAge.Seconds()),
		// Tokens come in a header. A browser must not add cookies or client certificates.
		AllowCredentials: false,
	})
	return func(next http.Handler) http.Handler {
		shared := handler.Handler(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, webhooks) {
				next.ServeHTTP(w, r)
				return
			}
			shared.ServeHTTP(w, r)
		})
	}
}

func methodsOf(routes []route) []string {
	var methods []string
	for _, rt := range routes {
		if !slices.Contains(methods, rt.method) {
			methods = append(methods, rt.method)
		}
	}
	return methods
}
