// Package history records what clients sent and what they were told, and checks whether
// it can have come from a service that keeps AUTH-19: each key has one effect and one
// response, and each balance is the sum of the effects in some order.
//
// A history is one line of JSON for each attempt, so that a failed run can be read,
// kept and checked again.
package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Outcome is how an attempt ended, as far as its client knows.
type Outcome string

const (
	// OK is a success: the command took effect now, or did before.
	OK Outcome = "ok"
	// Refused is any other answer that decides: the command took no effect by this
	// attempt.
	Refused Outcome = "refused"
	// Unknown is a 5xx, an answer that says so, or no answer: the command may have taken
	// effect, may do so at any later time, or never.
	Unknown Outcome = "unknown"
)

// Attempt is one request with an Idempotency-Key, or a look-up of a key, and its
// outcome.
type Attempt struct {
	Client  int `json:"client"`
	Replica int `json:"replica"`
	// Scope is the principal that owns the key: the subject of the token, as created_by
	// names it in the database.
	Scope string `json:"scope"`
	Key   string `json:"key"`
	// Operation is the operation id of the contract, such as creditBalance, or [Expiry] or
	// [Failover].
	Operation string `json:"operation"`
	// Request is a hash of method, path and body: attempts with another one are another
	// request under the same key.
	Request string `json:"request"`
	// Start and End are when the request was sent and answered, since the history began.
	// End of an unknown outcome is when the client gave up.
	Start   time.Duration `json:"start"`
	End     time.Duration `json:"end"`
	Outcome Outcome       `json:"outcome"`
	Status  int           `json:"status,omitempty"` // 0 without a response
	Code    string        `json:"code,omitempty"`   // of a problem document
	Result  string        `json:"result,omitempty"` // the header Idempotency-Result
	// SecondLine says that the response is no replay of a record, and reports the effect of
	// an earlier attempt: the second line of defence found it.
	SecondLine bool `json:"second_line,omitempty"`
	// Response is a hash of what a replay repeats: status, body, Location, Content-Type.
	Response string `json:"response,omitempty"`
	// Effect names the resource in the body of a success, such as "order 17". It is the
	// same in every success of a key, also after the record has expired.
	Effect string `json:"effect,omitempty"`
	// Record is what the response to [Lookup] says, nil without one and for 404.
	Record *Record `json:"record,omitempty"`
	// Error says why there is no response.
	Error string `json:"error,omitempty"`
	// Account, Change and After are for commands on balances: the account that the command
	// changes, by how many of the smallest unit, and the balance that the response names.
	// Change is 0 where the client cannot know it. For [ReadBalance], After is the
	// balance.
	Account string `json:"account,omitempty"`
	Change  int64  `json:"change,omitempty"`
	After   *int64 `json:"after,omitempty"`
}

// Record is what a look-up reports of a key.
type Record struct {
	State   string `json:"state"` // completed or in_progress
	Command string `json:"command,omitempty"`
	Status  int    `json:"status,omitempty"`
}

// The operations that are no commands of the contract.
const (
	// Lookup reads what became of a key.
	Lookup = "getIdempotencyKey"
	// ReadBalance reads the balance of an account. It has no key.
	ReadBalance = "getBalance"
	// Expiry is not a request: a test made the record of the key expire.
	Expiry = "expiry"
	// Failover is not a request: a database that may lack the last commits took the place
	// of the primary, a standby without synchronous replication or a backup. It begins
	// before the primary is killed. It ends when processes have forgotten what they
	// remember of the primary, 100 ms after the new one answers. A failover that must lose
	// nothing is no line of a history.
	Failover = "failover"
)

// Log collects the attempts of a run. It is safe for concurrent use.
type Log struct {
	began time.Time

	mu       sync.Mutex
	attempts []Attempt
}

// NewLog begins a history.
func NewLog() *Log { return &Log{began: time.Now()} }

// Now returns the time since the history began.
func (l *Log) Now() time.Duration { return time.Since(l.began) }

// Add adds an attempt that has ended.
func (l *Log) Add(a Attempt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.attempts = append(l.attempts, a)
}

// Attempts returns all attempts so far, in the order in which they ended.
func (l *Log) Attempts() []Attempt {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Attempt(nil), l.attempts...)
}

// Write writes a history, a line for each attempt.
func Write(w io.Writer, attempts []Attempt) error {
	lines := json.NewEncoder(w)
	for _, a := range attempts {
		if err := lines.Encode(a); err != nil {
			return fmt.Errorf("write a history: %w", err)
		}
	}
	return nil
}

// Read reads a history that Write has written.
func Read(r io.Reader) ([]Attempt, error) {
	var attempts []Attempt
	for lines := json.NewDecoder(r); ; {
		var a Attempt
		switch err := lines.Decode(&a); {
		case errors.Is(err, io.EOF):
			return attempts, nil
		case err != nil:
			return nil, fmt.Errorf("read attempt %d of a history: %w", len(attempts)+1, err)
		}
		attempts = append(attempts, a)
	}
}
