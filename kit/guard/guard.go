// Package guard lets a request with an Idempotency-Key take effect exactly once, however
// the client, the network, a replica or the database fails: it claims the key, runs the
// command and stores the response in one commit.
//
// A service uses it through the packages around it:
//
//   - httpguard guards routes of net/http.
//   - pgxstore and sqlstore keep the records in PostgreSQL.
//   - guardtest is the suite that every [Store] must pass, and routetest the one for
//     every route. pgtest has the hooks of routetest for PostgreSQL.
//
// The package itself knows neither HTTP nor SQL, and imports the standard library only. A
// service with a transport or a store of another kind turns requests into [Guard.Do], or
// implements [Store].
package guard

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// Errors from [Guard.Do] in addition to those from the command and the store.
var (
	// ErrInProgress: a request with this key is still running, in this process or
	// elsewhere. The same request with the same key can be sent again later.
	ErrInProgress = errors.New("a request with this idempotency key is in progress")
	// ErrKeyReused: the key belongs to a different request. The stored response stays
	// hidden.
	ErrKeyReused = errors.New("the idempotency key was used for another request")
	// ErrKeySpent: the request was refused, and the refusal is no longer replayed. The
	// caller may have continued under a new key, so a late copy of the request must not
	// run as well.
	ErrKeySpent = errors.New("the idempotency key was spent on a refusal")
	// ErrOutcomeUnknown: the COMMIT failed, and may have taken effect. The same request
	// with the same key finds the record, or runs.
	ErrOutcomeUnknown = errors.New("the outcome of the commit is unknown")
)

// Guard runs each command once per key. It needs a Store and a Timeout. Many goroutines
// may use it.
type Guard struct {
	Store Store
	// Wait is how long a duplicate waits for the first request to end. Without it, the
	// answer to a duplicate is [ErrInProgress] at once.
	Wait time.Duration
	// Timeout bounds an accepted request's work, in place of the client's patience. A
	// command that takes longer is rolled back with [context.DeadlineExceeded].
	Timeout time.Duration
	// OnWait, if not nil, is called after each pause while a duplicate waits, with the
	// time since it arrived.
	OnWait func(ctx context.Context, waited time.Duration)
}

// Request is a request that carries a key.
type Request struct {
	ID
	// Operation names the use case for people who look the key up, such as "createOrder".
	Operation string
	// Content is the request's meaning. A key cannot be used for two contents.
	Content Content
}

// Command performs a request. It runs in the transaction that stores the result: effect
// and response commit together or not at all.
//
// A command may run more than once, because a transaction that loses a race starts
// again. An earlier run's writes are rolled back first. A command must therefore not
// reach outside the database: no call, no message.
type Command func(ctx context.Context) (Result, error)

// Do returns the record of the first request with r's key, and reports whether that
// record was replayed rather than made now.
//
//  1. Claim. The store tries to lock the key and looks it up. A key belongs to a scope:
//     equal keys of two principals are two keys.
//  2. Run. The key is unused: run executes inside the claim's transaction. A crash at
//     any moment rolls it back.
//  3. Replay. There is a record for this request: the stored response is the answer,
//     and run is not called.
//  4. Refuse. The record belongs to a different request, or is no longer replayed: the
//     error is [ErrKeyReused] or [ErrKeySpent].
//  5. Wait. A concurrent request holds the key: wait with no database connection, and
//     try again. After g.Wait, or when the client is gone, the error is
//     [ErrInProgress].
//
// A client that hangs up does not stop a command that has been accepted: the command
// runs to the end on a separate context, and the retry finds the response.
//
// An error of run is returned as it is; the transaction was rolled back, and the key is
// free. If the answer to COMMIT was lost, the error is [ErrOutcomeUnknown].
func (g Guard) Do(ctx context.Context, r Request, run Command) (Record, bool, error) {
	claim := Claim{ID: r.ID, Operation: r.Operation, Fingerprint: r.Content.Fingerprint()}
	arrived := time.Now()
	for poll := firstPoll; ; poll = min(2*poll, longestPoll) {
		work, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.Timeout)
		work = context.WithValue(work, keyOf{}, r.Key)
		rec, replayed, err := g.Store.Execute(work, claim, run)
		cancel() // a panic leaves this to the timeout
		switch {
		case err == nil && replayed:
			return r.replay(rec, claim.Fingerprint)
		case !errors.Is(err, ErrInProgress):
			return rec, replayed, err
		}
		if !sleep(ctx, min(poll/2+rand.N(poll), g.Wait-time.Since(arrived))) {
			return Record{}, false, ErrInProgress
		}
		if g.OnWait != nil {
			g.OnWait(ctx, time.Since(arrived))
		}
	}
}

type keyOf struct{}

// KeyOf returns the key of the command that runs in ctx. A command stores it with the
// effect, in a unique index together with the resource and the caller, and looks there
// first. That is the second line of defence: it recognises a retry that comes when the
// record has expired.
//
// KeyOf panics outside of a command.
func KeyOf(ctx context.Context) string {
	key, ok := ctx.Value(keyOf{}).(string)
	if !ok {
		panic("guard: KeyOf is called outside of a guarded command")
	}
	return key
}

// A duplicate polls until the first request ends: at first often, then less and less, and
// never at the same moment as other duplicates.
const (
	firstPoll   = 10 * time.Millisecond
	longestPoll = 250 * time.Millisecond
)

// replay returns rec, unless it belongs to a different request or is spent. A different
// request learns only that the key is taken, not even that it is spent.
func (r Request) replay(rec Record, fingerprint Fingerprint) (Record, bool, error) {
	if rec.Fingerprint != fingerprint { // a different version or request
		same, err := r.Content.Matches(rec.Fingerprint)
		if err != nil {
			return Record{}, false, err
		}
		if !same {
			return Record{}, false, ErrKeyReused
		}
	}
	if rec.Spent {
		return Record{}, false, ErrKeySpent
	}
	return rec, true, nil
}

// sleep waits for d. It reports false when there is no time left or the client is gone.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return false
	}
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
