package probe

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"
)

// Target is a server under test.
type Target struct {
	// Servers are the base URLs of one process or two on the same data.
	Servers []string
	Profile Profile
	// Header is the name of the key header.
	Header string
	// Secrets names the principal of each credential. Reports mask them.
	Secrets map[string]string
	// Prepare returns a new operation, which will be sent with the key.
	Prepare func(ctx context.Context, key string) (*Operation, error)
	// Seed determines all keys.
	Seed uint64
	// Keys is how many keys a race has, and Crowd how many requests each of them.
	Keys, Crowd int
	// Timeout bounds one answer, Patience the time that a key may stay locked. Settle is how long
	// a probe lets something happen that must not happen: a slow machine may hide a fault, but
	// never invent one.
	Timeout, Patience, Settle time.Duration
	// Progress receives the steps of a long probe. It may be nil.
	Progress func(string)

	usual    int           // the status of Do
	lag      time.Duration // how far effects lag behind an answer, at most
	answered atomic.Int64  // when the last answer came
	// checked is the operation of the check, which is never repeated.
	checked *operation
}

// Operation is an intent, which takes effect once. All that is nil is missing: probes that need
// it are not applicable.
type Operation struct {
	// A and B are the headers of two principals. A sends the requests that follow. Either may be
	// nil.
	A, B http.Header
	// Do is a request that succeeds.
	Do Request
	// Others ask for something else on the same route, and Routes use a different route
	// or method. All of them are as valid as Do.
	Others, Routes []Request
	// Empty is a request that succeeds with no body.
	Empty *Request
	// Refused is a valid request that the business refuses. Remedy removes the reason.
	Refused *Request
	Remedy  func(context.Context) error
	// Effects returns the number of effects so far.
	Effects func(context.Context) (int, error)
	// HoldBefore keeps a command in the handler before the effect, and HoldAfter after
	// it.
	HoldBefore, HoldAfter setter
	// FailBefore makes a command fail before the effect, and FailAfter after it.
	FailBefore, FailAfter setter
	// Kill ends the first process, or the running command as a crash would. Start
	// starts it again, if that is needed.
	Kill, Start func(context.Context) error
	// Expire makes every stored key expire.
	Expire func(context.Context) error
	// StoreDown makes the store of keys unavailable, and StoreUp ends that.
	StoreDown, StoreUp func(context.Context) error
	// Canary is a text that only Do contains.
	Canary string
}

type setter = func(context.Context) (Trap, error)

// Trap catches commands until it is undone. All fields may be nil.
type Trap struct {
	// Header is sent with the request that is to be caught.
	Header http.Header
	// Await returns when a command is caught. If it is nil, a probe waits for Settle.
	Await func(context.Context) error
	// Undo releases the command.
	Undo func(context.Context) error
}
