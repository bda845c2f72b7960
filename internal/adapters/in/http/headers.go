package httpapi

import (
	"maps"
	"net/http"
)

// apiPolicy is the Content-Security-Policy of everything but the documentation page: a
// browser that shows a response loads and runs nothing.
const apiPolicy = "default-src 'none'; frame-ancestors 'none'"

// secureHeaders are the security headers. All responses share their values, which nobody
// may change in place.
var secureHeaders = http.Header{
	"Cache-Control":           {"no-store"}, // a response is about one principal
	"Content-Security-Policy": {apiPolicy},
	"Referrer-Policy":         {"no-referrer"},
	"X-Content-Type-Options":  {"nosniff"},
	"X-Frame-Options":         {"DENY"},
}

// strictTransport makes browsers use TLS for a year. A proxy that ends TLS has to send it
// by itself, because only the proxy knows that it does.
const strictTransport = "max-age=31536000"

// SecureHeaders sets the security headers of every response, replays and refusals
// included. A route that may be cached, or is a page, replaces them.
func SecureHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		maps.Copy(w.Header(), secureHeaders)
		if r.TLS != nil {
			w.Header().Set("Strict-Transport-Security", strictTransport)
		}
		next.ServeHTTP(w, r)
	})
}
