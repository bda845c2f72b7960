package httpapi

import (
	"net/http"

	"example.com/orders/internal/panics"
)

// recoverPanic answers a panic with 500. The line of the request says what the panic was
// about, and where it happened. The transaction was rolled back while the panic passed
// through it.
func (a *api) recoverPanic(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if v := recover(); v != nil {
				a.refuse(w, r, panics.Recovered(v))
			}
		}()
		next.ServeHTTP(w, r)
	})
}
