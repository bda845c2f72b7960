package httpapi

import (
	"net/http"
	"net/url"

	"github.com/go-chi/chi/v5"

	"example.com/orders/internal/core"
	"example.com/orders/internal/idempotency"
)

// request is an HTTP request that has passed the checks of token, role, key and body.
type request struct {
	http  *http.Request
	actor core.Actor
	// scope is the principal, issuer and subject of the token: whose idempotency keys
	// these are.
	scope idempotency.Scope
	// admission counts the request within the limits of the principal.
	admission *admission
	// key is the Idempotency-Key of a guarded request.
	key string
	// body is canonical JSON (RFC 8785), nil where the operation has no body.
	body []byte
}

// param returns a path parameter, unescaped.
func (r *request) param(name string) string {
	v := chi.URLParam(r.http, name)
	if decoded, err := url.PathUnescape(v); err == nil && r.http.URL.RawPath != "" {
		return decoded
	}
	return v
}
