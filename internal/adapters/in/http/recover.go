package httpapi

import (
	"net/http"
	"runtime/debug"
)

// recoverPanic answers a panic with 500 and logs its stack, but not its value, which
// may be personal data. The transaction was rolled back while the panic passed through
// it.
func (a *api) recoverPanic(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if v := recover(); v != nil {
				a.Log.Error().Str("request_id", entryOf(r.Context()).requestID).
					Bytes("stack", debug.Stack()).Msg("request panicked")
				a.refuse(w, r, internalProblem())
			}
		}()
		next.ServeHTTP(w, r)
	})
}
