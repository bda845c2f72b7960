package httpapi

import (
	"maps"
	"net/http"
)

// apiPolicy is the Content-Security-Policy for everything but the documentation page: a
// browser that shows a response loads and runs nothing.
const apiPolicy = "default-src 'none'; frame-ancestors 'none'"

// secureHeaders are the security headers. All responses share these slices, which must
// not change.
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

// SecureHeaders sets the security headers on every response, including replays and
// refusals. A route that may be cached, or is a page, replaces them.
func SecureHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setSecureHeaders(w, r)
		next.ServeHTTP(w, r)
	})
}

func setSecureHeaders(w http.ResponseWriter, r *http.Request) {
	maps.Copy(w.Header(), secureHeaders)
	if r.TLS != nil {
		w.Header().Set("Strict-Transport-Security", strictTransport)
	}
}
