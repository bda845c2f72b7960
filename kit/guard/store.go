package guard

import (
	"cmp"
	"context"
	"strings"
	"time"
)

// Scope is a key's owner: all that decides a request's meaning, apart from the request
// itself. Usually that is the principal, such as a token's issuer and subject; a service
// with tenants adds the tenant. Equal keys in two scopes are two keys.
type Scope string

// NewScope returns the scope for the given parts. Different parts make different scopes
// for any characters: spaces separate parts, and are escaped inside them.
func NewScope(parts ...string) Scope {
	escaped := make([]string, len(parts))
	for i, part := range parts {
		escaped[i] = scopeEscaper.Replace(part)
	}
	return Scope(strings.Join(escaped, " "))
}

var scopeEscaper = strings.NewReplacer("%", "%25", " ", "%20")

// ID identifies a key among all scopes.
type ID struct {
	Scope Scope
	Key   string
}

// Claim is a request that claims a key.
type Claim struct {
	ID
	Operation   string
	Fingerprint Fingerprint
}

// Response is a response as the first request got it, to the byte. This is all that a
// replay repeats.
type Response struct {
	Status      int
	ContentType string
	Location    string
	Body        []byte
}

// Result is a command's outcome, to be stored with the effect.
type Result struct {
	Response
	// Refused reports that the command was refused: the store drops all writes and
	// keeps only the response.
	Refused bool
	// TTL is how long the record is kept: no other command runs under the key.
	TTL time.Duration
	// ReplayTTL is how long the response is replayed, zero for as long as the record is kept.
	// After that, the key is spent; see [ErrKeySpent].
	ReplayTTL time.Duration
}

// Record is a stored response with the claim that it answered.
type Record struct {
	Claim
	Response
	CreatedAt time.Time
	// ReplayedUntil is when the response stops being replayed, and ExpiresAt when the
	// record counts as absent.
	ReplayedUntil, ExpiresAt time.Time
	// Spent reports that ReplayedUntil has passed, by the store's clock.
	Spent bool
}

// Record returns the record for a claim that began at now.
func (r Result) Record(c Claim, now time.Time) Record {
	return Record{
		Claim: c, Response: r.Response,
		CreatedAt: now, ReplayedUntil: now.Add(cmp.Or(r.ReplayTTL, r.TTL)), ExpiresAt: now.Add(r.TTL),
	}
}

// Store keeps records. A record that has expired, by the store's clock, counts as
// absent, whether or not it has been deleted.
type Store interface {
	// Execute returns a key's record, with replayed set, if there is one. Otherwise it
	// claims the key, runs the command, and commits the writes together with the
	// record.
	//
	// While a different transaction holds the key, it returns ErrInProgress at once and
	// keeps no connection. When run fails or panics, the transaction is rolled back,
	// the key is free, and the error is returned as it is. The writes of run reach the
	// transaction through the context.
	//
	// A COMMIT that failed may have taken effect. Execute does not repeat it, and has
	// ErrOutcomeUnknown to say so.
	//
	// Execute does not compare fingerprints: the guard does, with the record it gets.
	// For the same reason Execute also returns a spent key's record.
	Execute(ctx context.Context, claim Claim, run Command) (rec Record, replayed bool, err error)
}

// LookupStore is a store that also reports a key's state, for a route such as GET
// /idempotency-keys/{key}. The guard does not need it.
type LookupStore interface {
	Store
	// Lookup returns a key's record. While a transaction holds the key and there is no
	// record, it returns ErrInProgress. found is false if there is neither, which does
	// not rule out a later effect: the request may still be on the way.
	//
	// A transaction that ends meanwhile must not be missed. So a store looks first
	// whether the key is held, and then for the record, with a younger snapshot. It
	// does not try to hold the key itself: a first request would take it for a
	// concurrent one.
	Lookup(ctx context.Context, id ID) (rec Record, found bool, err error)
}
