package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
)

// service answers requests in memory, one after the other, and keeps what was sent.
type service struct {
	answers []answer
	sent    []sent
}

// answer answers one request, or fails as a connection does.
type answer func(*http.Request) (*http.Response, error)

// sent is a request that arrived.
type sent struct {
	at                                    time.Time
	method, path, key, token, body, match string
}

func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	body := ""
	if r.Body != nil {
		content, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		body = string(content)
	}
	s.sent = append(s.sent, sent{
		time.Now(), r.Method, r.URL.RequestURI(), r.Header.Get("Idempotency-Key"),
		r.Header.Get("Authorization"), body, r.Header.Get("If-Match"),
	})
	next := s.answers[min(len(s.sent), len(s.answers))-1] // the last one repeats
	return next(r)
}

// waits returns the time between each two requests.
func (s *service) waits() []time.Duration {
	var waits []time.Duration
	for i := 1; i < len(s.sent); i++ {
		waits = append(waits, s.sent[i].at.Sub(s.sent[i-1].at))
	}
	return waits
}

// responds returns a response with headers, name and value in turn. Like the service, it echoes
// the key.
func responds(status int, body string, headers ...string) answer {
	return func(r *http.Request) (*http.Response, error) {
		header := http.Header{"Content-Type": {"application/json"}}
		if key := r.Header.Get("Idempotency-Key"); key != "" {
			header.Set("Idempotency-Key", strings.Trim(key, `"`))
		}
		for i := 0; i < len(headers); i += 2 {
			header.Set(headers[i], headers[i+1])
		}
		return &http.Response{
			Status: http.StatusText(status), StatusCode: status, Header: header,
			Body: io.NopCloser(strings.NewReader(body)),
		}, nil
	}
}

// pageOf returns a page of a proxy, which echoes no key.
func pageOf(status int, headers ...string) answer {
	return responds(status, "<html>", append([]string{"Content-Type", "text/html", "Idempotency-Key", ""}, headers...)...)
}

// refuses returns a problem document. A stored refusal has the headers that say so.
func refuses(status int, members string, headers ...string) answer {
	return responds(status, "{"+members+"}", append([]string{"Content-Type", "application/problem+json"}, headers...)...)
}

// loses closes the connection without a response.
func loses(*http.Request) (*http.Response, error) { return nil, io.EOF }

// cuts closes the connection in the middle of a response.
func cuts(r *http.Request) (*http.Response, error) {
	resp, err := responds(http.StatusCreated, "")(r)
	resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"id":`), failing{}))
	return resp, err
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// hangs never answers.
func hangs(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

const (
	retryable = `"retryable": true, "next_key": "same"`
	decided   = `"retryable": false, "next_key": "new"`
	undecided = `"retryable": false, "next_key": "same"`
)

// Stored refusals have these headers.
var kept = []string{"Idempotency-Result", "created"}

var (
	created     = responds(http.StatusCreated, `{"id": 1041}`, "Idempotency-Result", "created", "Idempotency-Expires", "2026-11-24T16:42:49Z", "X-Request-Id", "r-1")
	replayed    = responds(http.StatusCreated, `{"id": 1041}`, "Idempotency-Result", "reused")
	unavailable = refuses(http.StatusServiceUnavailable, `"code": "unavailable", `+retryable)
	outOfStock  = refuses(http.StatusConflict, `"code": "out_of_stock", `+decided, kept...)
)

// newClient returns a client of a service that answers so, which waits as long as it may
// between two attempts.
func newClient(t *testing.T, answers ...answer) (*Client, *service) {
	t.Helper()
	s := &service{answers: answers}
	c, err := New(Config{
		URL: "https://orders.test/", Token: StaticToken("secret-token"), Keys: &MemoryStore{}, Transport: s,
	})
	if err != nil {
		t.Fatal(err)
	}
	c.random = func(limit time.Duration) time.Duration { return limit }
	return c, s
}

// order creates an order under a name.
func order(ctx context.Context, c *Client, name string) (OrderResult, error) {
	return c.CreateOrder(ctx, name, NewOrder{Items: []Item{{SKU: "tea", Quantity: 2}}})
}

// diffOf describes the difference between what a test wants and what it got; equal values
// have none.
func diffOf(want, got any) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return fmt.Sprintf("-%+v\n+%+v", want, got)
}
