// Package idempotency holds the few words that the guard, which speaks HTTP, and
// its store, which speaks SQL, use with each other. What the guard promises
// (AUTH-19) is told where it is kept: in the guard.
package idempotency

import (
	"context"
	"errors"
	"time"
)

// ErrInProgress is the answer for a key whose first request still runs, here or in
// another process.
var ErrInProgress = errors.New("a request with this key is in progress")

// ID names a key for all principals: equal keys of two principals are two keys.
type ID struct {
	// Principal is issuer and subject of the token.
	Principal string
	Key       string
}

// Fingerprint says what a request asks for. Two requests with one fingerprint are
// the same request.
type Fingerprint string

// Response is an answer as it went to the client, to the byte.
type Response struct {
	Status      int
	ContentType string
	Location    string
	Body        []byte
}

// Request is what a key is claimed for.
type Request struct {
	ID
	Fingerprint Fingerprint
	// Command is the use case, for people who look the key up.
	Command string
}

// Result is what a command came to, to be stored with its effect.
type Result struct {
	Response
	// Refused tells that the command did nothing: its writes are dropped, only the
	// response is kept.
	Refused bool
	// Repeated tells that the operation had taken effect before, under a record that
	// is gone: the business's own second line answered.
	Repeated bool
	// TTL is how long the response is kept.
	TTL time.Duration
}

// Record is a stored response and what it answered.
type Record struct {
	Request
	Response
	CreatedAt time.Time
	ExpiresAt time.Time
}

// Store keeps records.
type Store interface {
	// Once gives the record of the key with replayed set, if there is one that has not
	// expired. If there is none it claims the key, runs the command, and commits the
	// command's writes and the record of its result together. The command may run more
	// than once, but what it wrote before is rolled back first.
	//
	// While another transaction holds the key it answers ErrInProgress, at once and
	// without keeping a connection. When run fails, its error comes back, nothing is
	// kept, and the key is free.
	Once(ctx context.Context, r Request, run func(ctx context.Context) (Result, error)) (rec Record, replayed bool, err error)
	// Find gives the record of a key that has not expired. The flag is false if there
	// is none.
	Find(ctx context.Context, id ID) (Record, bool, error)
}
