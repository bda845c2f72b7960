package httpapi

import "net/http"

// apiPolicy is the Content-Security-Policy of everything but the documentation page: a
// browser that shows a response loads and runs nothing.
const apiPolicy = "default-src 'none'; frame-ancestors 'none'"

// SecureHeaders sets the security headers of every response, replays and refusals
// included. A route that may be cached, or is a page, replaces them.
func SecureHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store") // a response is about one principal
		h.Set("Content-Security-Policy", apiPolicy)
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		next.ServeHTTP(w, r)
	})
}
