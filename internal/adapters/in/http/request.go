package httpapi

import (
	"net/http"
	"net/url"

	"github.com/go-chi/chi/v5"

	"example.com/orders/internal/adapters/in/http/limits"
	"example.com/orders/internal/adapters/in/http/strictjson"
	"example.com/orders/internal/core"
	"example.com/orders/internal/idempotency"
)

// request is an HTTP request whose token, role, key and body have been checked.
type request struct {
	http  *http.Request
	actor core.Actor
	// scope is the token's principal, issuer and subject: the owner of the idempotency
	// keys.
	scope idempotency.Scope
	// admission counts the request within the principal's limits.
	admission *limits.Admission
	// key is a guarded request's Idempotency-Key.
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

// bodyOf decodes a body that has passed its operation's schema.
func bodyOf[T any](r *request) (T, error) { return strictjson.Decode[T](r.body) }
