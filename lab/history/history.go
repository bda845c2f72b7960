// Package history records requests and responses, and checks whether they can come from
// a service under AUTH-19: each key has one effect and one response, and each balance
// is the sum of the effects in some order.
//
// A history has one line of JSON per attempt, so that a failed run can be read and
// kept.
package history

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"
)

// Outcome is the result of an attempt, as far as the client knows.
type Outcome string

const (
	// OK is a success: the command took effect now, or did before.
	OK Outcome = "ok"
	// Refused is any other answer that decides: the attempt had no effect.
	Refused Outcome = "refused"
	// Unknown is a 5xx, an outcome_unknown answer, or no answer: the command may have
	// taken effect, or may still do so at any time.
	Unknown Outcome = "unknown"
)

// Attempt is one request with an Idempotency-Key, or a key lookup, with the outcome.
type Attempt struct {
	Client  int `json:"client"`
	Replica int `json:"replica"`
	// Scope is the principal that owns the key: the token's subject, as in created_by
	// in the database.
	Scope string `json:"scope"`
	Key   string `json:"key"`
	// Operation is the contract's operation id, such as creditBalance, or [Expiry] or
	// [Failover].
	Operation string `json:"operation"`
	// Request hashes method, path and body: attempts with a different hash are a different
	// request under the same key.
	Request string `json:"request"`
	// Start and End are the times of request and response, since the history began. For
	// an unknown outcome, End is when the client gave up.
	Start   time.Duration `json:"start"`
	End     time.Duration `json:"end"`
	Outcome Outcome       `json:"outcome"`
	Status  int           `json:"status,omitempty"` // 0 if there was no response
	Code    string        `json:"code,omitempty"`   // in a problem document
	Result  string        `json:"result,omitempty"` // the Idempotency-Result header
	// SecondLine reports that the response is not a replay, but reports the effect of
	// an earlier attempt, found by the second line of defence.
	SecondLine bool `json:"second_line,omitempty"`
	// Response hashes everything that a replay repeats: status, body, Location,
	// Content-Type.
	Response string `json:"response,omitempty"`
	// Effect names the resource in a success, such as "order 17". It is the same in
	// every success for a key, even after the record has expired.
	Effect string `json:"effect,omitempty"`
	// Record is the response to [Lookup], nil if there was no response, and for 404.
	Record *Record `json:"record,omitempty"`
	// Error is the reason for a missing response.
	Error string `json:"error,omitempty"`
	// Account, Change and After are for balance commands: the account, the change in
	// the smallest unit, and the balance in the response. Change is 0 if the client
	// cannot know it. For [ReadBalance], After is the balance. A product's available
	// stock is an account as well, one that no ledger has.
	Account string `json:"account,omitempty"`
	Change  int64  `json:"change,omitempty"`
	After   *int64 `json:"after,omitempty"`
}

// Record is the result of a key lookup.
type Record struct {
	State   string `json:"state"` // completed or in_progress
	Command string `json:"command,omitempty"`
	Status  int    `json:"status,omitempty"`
}

// Operations in addition to the contract commands.
const (
	// Lookup reads the outcome of a key.
	Lookup = "getIdempotencyKey"
	// ReadBalance reads an account balance, and ReadStock a product's available stock.
	// They have no key.
	ReadBalance = "getBalance"
	ReadStock   = "getProduct"
	// Expiry is not a request: a test made the key's record expire.
	Expiry = "expiry"
	// Failover is not a request: a database that may lack the last commits replaced the
	// primary, such as a standby without synchronous replication or a backup. It begins
	// before the primary is killed. It ends 100 ms after the new one answers, when
	// processes have forgotten everything about the primary. A failover that must lose
	// no effect is not in the history.
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

// Add adds a completed attempt.
func (l *Log) Add(a Attempt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.attempts = append(l.attempts, a)
}

// Attempts returns all attempts so far, ordered by their ends.
func (l *Log) Attempts() []Attempt {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Attempt(nil), l.attempts...)
}

// Write writes a history, one line per attempt.
func Write(w io.Writer, attempts []Attempt) error {
	lines := json.NewEncoder(w)
	for _, a := range attempts {
		if err := lines.Encode(a); err != nil {
			return fmt.Errorf("write a history: %w", err)
		}
	}
	return nil
}
