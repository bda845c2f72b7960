// Package secure sets the security headers of responses.
package secure

import (
	"maps"
	"net/http"
)

// policy is the Content-Security-Policy for everything but the documentation page: a
// browser that shows a response loads no resource and runs no script.
const policy = "default-src 'none'; frame-ancestors 'none'"

// headers are the security headers. All responses share these slices, which must
// not change.
var headers = http.Header{
	"Cache-Control":           {"no-store"}, // a response is about one principal
	"Content-Security-Policy": {policy},
	"Referrer-Policy":         {"no-referrer"},
	"X-Content-Type-Options":  {"nosniff"},
	"X-Frame-Options":         {"DENY"},
}

// strictTransport makes browsers use TLS for a year. A proxy that ends TLS has to send it
// by itself, because only the proxy knows that it does.
const strictTransport = "max-age=31536000"

// Headers sets the security headers on every response, including replays and
// refusals. A route that may be cached, or is a page, replaces them.
func Headers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		Set(w, r)
		next.ServeHTTP(w, r)
	})
}

// Set sets the security headers of one response.
func Set(w http.ResponseWriter, r *http.Request) {
	maps.Copy(w.Header(), headers)
	if r.TLS != nil {
		w.Header().Set("Strict-Transport-Security", strictTransport)
	}
}
