package core

// Operation identifies a business operation by its requester and Idempotency-Key. It is
// stored beside the effect, where a unique index prevents a second effect even after
// the idempotency record has expired: the second line of defence (AUTH-19).
type Operation struct {
	Actor string
	Key   string
}
