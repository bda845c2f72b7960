package core

// Operation identifies a business operation by who requested it and under which
// Idempotency-Key. It is stored beside the effect, where a unique index keeps the
// effect from happening twice even after the idempotency record has expired: the
// second line of defence (AUTH-19).
type Operation struct {
	Actor string
	Key   string
}
