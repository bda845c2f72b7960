package httpguard

import "net/http"

// Headers of requests and responses.
const (
	// KeyHeader has the key of a request. Responses repeat it.
	KeyHeader = "Idempotency-Key"
	// ExpiresHeader says until when a response is replayed (RFC 3339).
	ExpiresHeader = "Idempotency-Expires"
	// ReplayedHeader is "true" if the response is a replay.
	ReplayedHeader = "Idempotent-Replayed"
)

// Kept reports whether a response with the status is stored and replayed, and whether
// the effect is kept with it: a success (2xx) with the effect, a refusal (402, 409,
// 422) without it. All others depend on the caller, on what exists or on luck, so
// keeping them would make an accident permanent.
func Kept(status int) (kept, withEffect bool) {
	switch status {
	case http.StatusPaymentRequired, http.StatusConflict, http.StatusUnprocessableEntity:
		return true, false
	}
	success := status/100 == 2
	return success, success
}
