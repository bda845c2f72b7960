// Package routetest is the suite that every guarded route must pass. It sees the service
// from outside, over HTTP, and needs to know neither the guard nor the store:
//
//	func TestRoute(t *testing.T) {
//		routetest.Run(t, func(t *testing.T) routetest.Route { … })
//	}
//
// It asks for statuses and headers, and reads no body: the form of the errors is yours.
package routetest

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// Route is a guarded route under test, on an empty database.
type Route struct {
	// URL is the base URL of the service: http://127.0.0.1:8080. Replica is that of another
	// process on the same database; the zero value stands for URL.
	URL, Replica string
	// Request is a valid request with a JSON object as its body. Each new key that it is
	// sent with has one effect.
	Request Request
	// Others ask for something else and are as valid: another body, another resource in the
	// path, another method if that is also guarded.
	Others []Request
	// Refused is a valid request that the business refuses with 402, 409 or 422.
	Refused Request
	// Principal authenticates the sender of these requests, such as {"Authorization": …}.
	// Peer is another principal, who may also send Request.
	Principal, Peer http.Header
	// Effects returns the number of effects, of all requests.
	Effects func(t *testing.T) int

	// The hooks that follow may be nil: the cases that need them are skipped then.

	// Hold lets a command begin and not end, for example by a lock on a row that it needs.
	Hold func(t *testing.T) Hold
	// Fail lets a write of every command fail until repair is called.
	Fail func(t *testing.T) (repair func())
	// FailRecord lets the write of the record fail, after all writes of the command.
	FailRecord func(t *testing.T) (repair func())
	// Expire makes all records expire now.
	Expire func(t *testing.T)
}

// Request is a request without a key and without a principal.
type Request struct {
	Method, Path, Body string
}

// Hold is a command that has begun and cannot end.
type Hold struct {
	// Await returns when a command is held.
	Await func()
	// Crash ends the held command as a crash of the process or of the database would.
	Crash func()
	// Release lets the command end. It may be called more than once.
	Release func()
}

// Run runs the suite. open returns a new fixture for each test.
func Run(t *testing.T, open func(t *testing.T) Route) {
	t.Helper()
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := open(t)
			r.Replica = cmp.Or(r.Replica, r.URL)
			test(t, r)
		})
	}
}

var cases = map[string]func(*testing.T, Route){
	"a request without a usable key is refused":       refusesUnusableKeys,
	"a retry gets the first response":                 replaysTheFirstResponse,
	"a retry may be spelled differently":              ignoresSpelling,
	"case counts in keys":                             separatesCase,
	"another request with the key is refused":         refusesOtherRequests,
	"a key belongs to its principal":                  separatesPrincipals,
	"a stranger gets no stored response":              authenticatesBeforeAReplay,
	"a request that cannot be read leaves its key":    leavesKeysOfUnreadableRequests,
	"a refusal is kept":                               keepsRefusals,
	"a failed command keeps nothing":                  keepsNothingOfAFailedCommand,
	"a failed record keeps nothing":                   keepsNothingOfAFailedRecord,
	"many requests at once have one effect":           runsOnceAmongMany,
	"a duplicate waits or has to come back":           answersDuplicatesOfARunningCommand,
	"a client that hangs up does not stop a command":  finishesTheCommandOfAClientThatHungUp,
	"a crash keeps nothing":                           keepsNothingOfACrash,
	"after expiry the second line of defence answers": answersAfterExpiry,
}

// call is a request as it is sent.
type call struct {
	Request
	url  string
	who  http.Header
	keys []string
}

// by returns the call of the principal with a key.
func (r Route) by(req Request, keys ...string) call { return call{req, r.URL, r.Principal, keys} }

// reply is a response whose body has been read.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// try sends a call. The error is that of a request without a response.
func try(ctx context.Context, c call) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, c.Method, c.url+c.Path, strings.NewReader(c.Body))
	if err != nil {
		return reply{}, err
	}
	maps.Copy(req.Header, c.who)
	req.Header.Set("Content-Type", "application/json")
	if len(c.keys) > 0 {
		req.Header["Idempotency-Key"] = c.keys
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, body}, err
}

// send sends a call that must get a response.
func send(t *testing.T, c call) reply {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got, err := try(ctx, c)
	if err != nil {
		t.Fatalf("%s %s: %v", c.Method, c.Path, err)
	}
	return got
}

func (r reply) succeeded() bool { return r.status/100 == 2 }
func (r reply) replayed() bool  { return r.header.Get("Idempotent-Replayed") == "true" }

// mustRun sends a call that must run as new and succeed.
func mustRun(t *testing.T, c call) reply {
	t.Helper()
	got := send(t, c)
	if !got.succeeded() || got.replayed() {
		t.Fatalf("%s %s: %d %s, replayed = %v; want a first response", c.Method, c.Path, got.status, got.body, got.replayed())
	}
	return got
}

// ownHeaders belong to each response, and not to the stored one.
var ownHeaders = []string{"Date", "Idempotency-Result", "Idempotent-Replayed", "X-Request-Id", "Request-Id", "Traceparent"}

// wantReplay sends a call twice, to both processes. It must get the first response, with
// every header: a header that is not stored would be missing.
func (r Route) wantReplay(t *testing.T, first reply, c call) {
	t.Helper()
	for _, url := range []string{r.URL, r.Replica} {
		c.url = url
		got := send(t, c)
		if got.status != first.status || !bytes.Equal(got.body, first.body) || !got.replayed() {
			t.Errorf("got %d %s, replayed = %v; want the replay of %d %s", got.status, got.body, got.replayed(), first.status, first.body)
		}
		for _, name := range slices.Concat(slices.Collect(maps.Keys(first.header)), slices.Collect(maps.Keys(got.header))) {
			if !slices.Contains(ownHeaders, name) && !slices.Equal(first.header[name], got.header[name]) {
				t.Errorf("the replay has %s: %q, the first response had %q", name, got.header[name], first.header[name])
			}
		}
	}
}

// wantRefusal checks a response that must be 4xx, or the given status, and must show nothing
// of a stored response.
func wantRefusal(t *testing.T, what string, got reply, status int, stored reply) {
	t.Helper()
	if got.status != status && (status != 0 || got.status/100 != 4) {
		t.Errorf("%s: %d %s, want %d (0 is any 4xx)", what, got.status, got.body, status)
	}
	location := stored.header.Get("Location")
	leaks := len(stored.body) > 2 && bytes.Contains(got.body, stored.body) || location != "" && got.header.Get("Location") == location
	if leaks || got.replayed() {
		t.Errorf("%s: the response shows the stored one: %v %s", what, got.header, got.body)
	}
}

func (r Route) wantEffects(t *testing.T, want int) {
	t.Helper()
	if got := r.Effects(t); got != want {
		t.Errorf("%d effects, want %d", got, want)
	}
}

// need skips a case whose hook is missing.
func need(t *testing.T, there bool, hook string) {
	t.Helper()
	if !there {
		t.Skip("NOT TESTED: the fixture has no " + hook)
	}
}
