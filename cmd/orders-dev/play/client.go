package play

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Attempt is one try to send a payment, with the response.
type Attempt struct {
	Number  int    `json:"number"`
	Payment int    `json:"payment"`
	Guarded bool   `json:"guarded"`
	Replica string `json:"replica"`
	PID     int    `json:"pid"` // replica
	Method  string `json:"method"`
	Path    string `json:"path"`
	Key     string `json:"key"`
	Body    string `json:"body"`

	Pending  bool   `json:"pending"` // true until the attempt ends
	Status   int    `json:"status"`  // 0 if no response arrived
	Result   string `json:"result"`  // Idempotency-Result
	Replayed bool   `json:"replayed"`
	Response string `json:"response"` // the body, or the reason why it is missing
	Lost     *Lost  `json:"lost"`     // the response that the network lost
	Effect   effect `json:"effect"`
	Began    int64  `json:"began"` // milliseconds since the playground opened
	Millis   int64  `json:"millis"`
}

// effect is the effect of an attempt in the database.
type effect string

const (
	committed  effect = "committed"   // the payment was written, with a guard the record as well
	replayed   effect = "replayed"    // the stored response was read
	recognised effect = "recognised"  // the unique index on the payment knew the key
	refused    effect = "refused"     // no row was written
	rolledBack effect = "rolled back" // the transaction ended without COMMIT
	unknown    effect = "unknown"
)

// client is the customer's side of the network.
type client struct{ http *http.Client }

// newClient returns a client that opens a connection for each request: otherwise
// net/http silently retries a request with an Idempotency-Key on a broken connection.
func newClient() client {
	return client{&http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}}
}

// send sends an attempt to a server and records the response.
func (c client) send(ctx context.Context, a *Attempt, server, token string) {
	started := time.Now()
	response, err := c.call(ctx, a.Method, server+a.Path, token, a.Key, a.Body)
	a.Pending, a.Millis = false, time.Since(started).Milliseconds()
	if err != nil {
		a.Response, a.Effect = "The connection closed before a response arrived.", unknown
		return
	}
	a.Status, a.Response = response.status, strings.TrimSpace(string(response.body))
	a.Result = response.header.Get("Idempotency-Result")
	a.Replayed = response.header.Get("Idempotent-Replayed") == "true"
	a.Effect = effectOf(a.Status, a.Result, a.Replayed)
}

// effectOf derives the effect from a response.
func effectOf(status int, result string, wasReplayed bool) effect {
	switch {
	case wasReplayed:
		return replayed
	case result == "reused":
		return recognised
	case status > 0 && status < http.StatusMultipleChoices:
		return committed
	case status < http.StatusInternalServerError:
		return refused
	}
	return unknown
}

// answer is a complete response.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (c client) call(ctx context.Context, method, url, token, key, body string) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	read, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, read}, err
}

// must makes the API calls of the playground and decodes the response.
func (c client) must(ctx context.Context, into any, method, url, token, key, body string) error {
	got, err := c.call(ctx, method, url, token, key, body)
	if err != nil {
		return err
	}
	if got.status >= http.StatusMultipleChoices {
		return fmt.Errorf("%s %s: status %d: %s", method, url, got.status, got.body)
	}
	return json.NewDecoder(bytes.NewReader(got.body)).Decode(into)
}
