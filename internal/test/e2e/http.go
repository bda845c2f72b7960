package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	contracttest "example.com/orders/internal/test/contract"
	testwait "example.com/orders/internal/test/wait"
)

// Call is a request. An empty body is not sent. Headers override the other members.
type Call struct {
	Method, Path string
	Token        string
	Key          string
	Body         string
	Header       http.Header
}

// WithKey returns the call with an Idempotency-Key.
func (c Call) WithKey(key string) Call {
	c.Key = key
	return c
}

// WithBody returns the call with a body.
func (c Call) WithBody(body string) Call {
	c.Body = body
	return c
}

// WithToken returns the call with a token.
func (c Call) WithToken(token string) Call {
	c.Token = token
	return c
}

// WithHeader returns the call with a header; without values it removes the header.
func (c Call) WithHeader(name string, values ...string) Call {
	c.Header = http.Header{name: values}
	return c
}

// Get returns a call that reads a path.
func Get(token, path string) Call { return Call{Method: http.MethodGet, Path: path, Token: token} }

// Reply is a response with the body that has been read.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
}

// ReadReply reads a response to the end. The caller closes it.
func ReadReply(resp *http.Response) (Reply, error) {
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return Reply{}, err
	}
	return Reply{resp.StatusCode, resp.Header, body}, nil
}

// problem is a problem document, without what tests do not read.
type problem struct {
	Code    string
	NextKey string `json:"next_key"`
	Errors  []struct{ Pointer string }
}

// problem returns the body as a problem document. Any other body is an empty one.
func (r Reply) problem() (p problem) {
	_ = json.Unmarshal(r.Body, &p)
	return p
}

// Code returns the problem code, or "" for any other body.
func (r Reply) Code() string { return r.problem().Code }

// NextKey returns the next_key of a problem, "" for null.
func (r Reply) NextKey() string { return r.problem().NextKey }

// Verdict returns the status and the code in one string: "200", "409 out_of_stock".
func (r Reply) Verdict() string { return strings.TrimSpace(fmt.Sprint(r.Status, " ", r.Code())) }

// Pointers returns the members that a problem document names.
func (r Reply) Pointers() []string {
	var pointers []string
	for _, e := range r.problem().Errors {
		pointers = append(pointers, e.Pointer)
	}
	return pointers
}

// Replayed reports whether the response is marked as a stored one.
func (r Reply) Replayed() bool { return r.Header.Get("Idempotent-Replayed") == "true" }

// SameAs reports whether two responses have the same status and the same bytes.
func (r Reply) SameAs(other Reply) bool {
	return r.Status == other.Status && bytes.Equal(r.Body, other.Body)
}

// Send sends a call and checks the response against the contract.
func (s *Service) Send(t testing.TB, c Call) Reply {
	t.Helper()
	r, err := s.Try(t.Context(), t, c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Try is [Service.Send] for calls that may get no response, and for other goroutines.
func (s *Service) Try(ctx context.Context, t contracttest.Reporter, c Call) (Reply, error) {
	t.Helper()
	req, err := s.newRequest(ctx, c)
	if err != nil {
		return Reply{}, err
	}
	resp, err := cmp.Or(s.Client, http.DefaultClient).Do(req)
	if err != nil {
		return Reply{}, err
	}
	defer resp.Body.Close()
	r, err := ReadReply(resp)
	if err != nil {
		return Reply{}, err
	}
	s.Contract.Check(t, req, []byte(c.Body), resp, r.Body)
	return r, nil
}

func (s *Service) newRequest(ctx context.Context, c Call) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, c.Method, s.URL+c.Path, strings.NewReader(c.Body))
	if err != nil {
		return nil, err
	}
	if c.Header != nil {
		req.Header = c.Header.Clone()
	}
	setDefault := func(name, value string) {
		if value != "" && req.Header.Values(name) == nil {
			req.Header.Set(name, value)
		}
	}
	if c.Token != "" {
		setDefault("Authorization", "Bearer "+c.Token)
	}
	setDefault("Idempotency-Key", c.Key)
	if c.Body != "" {
		setDefault("Content-Type", "application/json")
	}
	return req, nil
}

// MustSend sends a call that must succeed.
func (s *Service) MustSend(t testing.TB, c Call) Reply {
	t.Helper()
	r := s.Send(t, c)
	if r.Status/100 != 2 {
		t.Fatalf("%s %s: %d %s", c.Method, c.Path, r.Status, r.Body)
	}
	return r
}

// Want sends a call that must have the given status, and decodes the response into T.
func Want[T any](t testing.TB, s *Service, status int, c Call) T {
	t.Helper()
	r := s.Send(t, c)
	if r.Status != status {
		t.Fatalf("%s %s: status %d, want %d: %s", c.Method, c.Path, r.Status, status, r.Body)
	}
	var v T
	if err := json.Unmarshal(r.Body, &v); err != nil {
		t.Fatalf("%s %s: %v in %s", c.Method, c.Path, err, r.Body)
	}
	return v
}

// WantProblem sends a call that must be refused with the given status and code.
func (s *Service) WantProblem(t testing.TB, status int, code string, c Call) Reply {
	t.Helper()
	r := s.Send(t, c)
	if r.Status != status || r.Code() != code {
		t.Errorf("%s %s: %d %q, want %d %q: %s", c.Method, c.Path, r.Status, r.Code(), status, code, r.Body)
	}
	return r
}

// Request is a call to a replica.
type Request struct {
	service *Service
	Call
}

// Request addresses a call to this replica.
func (s *Service) Request(c Call) Request { return Request{s, c} }

// SendTogether sends all requests at once and returns the responses in request order. A
// 5xx always fails the test.
func SendTogether(t testing.TB, requests ...Request) []Reply {
	t.Helper()
	replies := make([]Reply, len(requests))
	errs := make([]error, len(requests))
	start := make(chan struct{})
	var sending sync.WaitGroup
	for i, r := range requests {
		sending.Go(func() {
			<-start
			replies[i], errs[i] = r.service.Try(t.Context(), t, r.Call)
		})
	}
	close(start)
	sending.Wait()
	for i, r := range replies {
		if errs[i] != nil {
			t.Fatalf("%s %s: %v", requests[i].Method, requests[i].Path, errs[i])
		}
		if r.Status >= http.StatusInternalServerError {
			t.Errorf("%s %s: %d %s", requests[i].Method, requests[i].Path, r.Status, r.Body)
		}
	}
	return replies
}

// SendAllTogether is [SendTogether] for calls to one replica.
func (s *Service) SendAllTogether(t testing.TB, calls []Call) []Reply {
	t.Helper()
	requests := make([]Request, len(calls))
	for i, c := range calls {
		requests[i] = s.Request(c)
	}
	return SendTogether(t, requests...)
}

// Fetch returns the status and body for a GET that is not in the contract, such as one
// to the admin listener.
func Fetch(t testing.TB, url string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	r, err := ReadReply(resp)
	if err != nil {
		t.Fatal(err)
	}
	return r.Status, string(r.Body)
}

// Patience bounds the waiting in tests.
const Patience = testwait.Patience

// Eventually waits until the condition holds, or ends the test.
func Eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	testwait.Until(t, what, condition)
}

// NewSignal returns a channel and a function that closes it. The function may be called
// more than once.
func NewSignal() (signal <-chan struct{}, fire func()) {
	c := make(chan struct{})
	return c, sync.OnceFunc(func() { close(c) })
}

// Receive waits for a value from a goroutine.
func Receive[T any](t testing.TB, from <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(Patience):
		t.Fatalf("after %s still not: %s", Patience, what)
		panic("unreachable")
	}
}
