// Package idempotency is the engine of AUTH-19: a request that carries an
// Idempotency-Key takes effect exactly once, whatever the client, the network, a replica
// or the database does.
//
// The package knows neither HTTP nor SQL, and imports the standard library only, so that
// other services can copy it as it is. A service adds two things:
//
//   - A [Store], which keeps records and runs a command in the transaction that stores
//     its response. The package idempotencytest is the suite that every store must pass.
//   - A few lines that turn its requests into [Guard.Do], and the outcome into responses.
package idempotency

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// Errors of [Guard.Do] besides those of the command and of the store.
var (
	// ErrInProgress: the first request with this key is still running, here or in
	// another process. The same request with the same key can be sent again later.
	ErrInProgress = errors.New("a request with this idempotency key is in progress")
	// ErrKeyReused: the key belongs to another request. The stored response stays hidden.
	ErrKeyReused = errors.New("the idempotency key was used for another request")
	// ErrKeySpent: the request was refused, and the refusal is not replayed any more. The
	// caller may have continued under another key, so a late copy of the request must not run
	// beside it.
	ErrKeySpent = errors.New("the idempotency key was spent on a refusal")
)

// Guard runs each command once per key.
type Guard struct {
	Store Store
	// Wait is how long a duplicate waits for the first request to end.
	Wait time.Duration
	// Timeout bounds the work of an accepted request, in place of the client's patience.
	Timeout time.Duration
}

// Request is a request that carries a key.
type Request struct {
	ID
	// Operation names the use case for people who look the key up, such as "createOrder".
	Operation string
	// Content is what the request asks for. A key cannot be used for two contents.
	Content Content
}

// Command does what a request asks for. It runs in the transaction that stores its
// result: its effect and its response commit together or not at all.
//
// A command may run more than once, because a transaction that loses a race against
// another one starts again. What an earlier run wrote is rolled back first. Nothing may
// therefore leave the database inside a command: no call, no message.
type Command func(ctx context.Context) (Result, error)

// Do returns the record of the first request with the key of r, and reports whether that
// record was replayed rather than made now.
//
//  1. Claim. The store tries to lock the key and looks it up. A key belongs to its scope:
//     an equal key of another principal is another key.
//  2. Run. Nobody has used the key: run executes inside the transaction of the claim. A
//     crash at any moment leaves nothing behind.
//  3. Replay. There is a record of this request: its stored response is the answer, and
//     nothing runs.
//  4. Refuse. The record is of another request, or its response is not replayed any more:
//     the error is [ErrKeyReused] or [ErrKeySpent].
//  5. Wait. Another request holds the key: wait, without a database connection, and try
//     again. After g.Wait, or when the client is gone, the error is [ErrInProgress].
//
// A client that hangs up does not stop a command that has been accepted: the command runs
// to its end on a context of its own, and the retry finds its response.
//
// An error of run is returned as it is; nothing was stored, and the key is free. An error
// of the store may mean that the outcome is unknown, because the answer to COMMIT was
// lost. Then only the key can tell: the same request with the same key resolves it.
func (g Guard) Do(ctx context.Context, r Request, run Command) (rec Record, replayed bool, err error) {
	claim := Claim{ID: r.ID, Operation: r.Operation, Fingerprint: r.Content.Fingerprint()}
	rec, replayed, err = g.claimOrWait(ctx, claim, run)
	if err != nil || !replayed {
		return rec, replayed, err
	}
	if err := r.mayReplay(rec, claim.Fingerprint); err != nil {
		return Record{}, false, err
	}
	return rec, true, nil
}

// mayReplay returns an error unless rec is the stored response of r, and still replayed.
// Another request learns nothing of the record, not even that it is spent.
func (r Request) mayReplay(rec Record, fingerprint Fingerprint) error {
	if rec.Fingerprint != fingerprint { // of another version, or of another request
		same, err := r.Content.Matches(rec.Fingerprint)
		if err != nil {
			return err
		}
		if !same {
			return ErrKeyReused
		}
	}
	if rec.Spent {
		return ErrKeySpent
	}
	return nil
}

// A duplicate polls until the first request ends: at first often, then less and less, and
// never at the same moment as other duplicates.
const (
	firstPoll   = 10 * time.Millisecond
	longestPoll = 250 * time.Millisecond
)

// claimOrWait claims the key and runs the command, or returns what is stored. While
// another request holds the key, it waits and holds nothing itself.
func (g Guard) claimOrWait(ctx context.Context, claim Claim, run Command) (Record, bool, error) {
	deadline := time.Now().Add(g.Wait)
	for poll := firstPoll; ; poll = min(2*poll, longestPoll) {
		rec, replayed, err := g.execute(ctx, claim, run)
		if !errors.Is(err, ErrInProgress) {
			return rec, replayed, err
		}
		if !sleep(ctx, min(poll/2+rand.N(poll), time.Until(deadline))) {
			return Record{}, false, ErrInProgress
		}
	}
}

// execute calls the store on a context that the client cannot cancel.
func (g Guard) execute(ctx context.Context, claim Claim, run Command) (Record, bool, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.Timeout)
	defer cancel()
	return g.Store.Execute(ctx, claim, run)
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
