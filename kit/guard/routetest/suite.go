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
	"context"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"example.com/orders/kit/guard/routetest/probe"
)

// Route is a guarded route under test, on an empty database.
type Route struct {
	// URL is the base URL of the service: http://127.0.0.1:8080. Replica is that of a
	// second process on the same database; the zero value stands for URL.
	URL, Replica string
	// Request is a valid request with a JSON object as the body. Each new key that it
	// is sent with has one effect.
	Request Request
	// Others ask for something else and are as valid: a different body, resource in the
	// path, or method if that is also guarded.
	Others []Request
	// Refused is a valid request that the business refuses with 402, 409 or 422.
	Refused Request
	// Principal authenticates the sender of these requests, such as {"Authorization":
	// …}. Peer is a second principal, who may also send Request.
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

// Request is a request before key and principal are added.
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

// Run asks the questions of package probe, except those that need a process to kill or a store
// to stop. open returns a new fixture for each of them.
func Run(t *testing.T, open func(t *testing.T) Route) {
	t.Helper()
	for _, p := range probe.Probes {
		if p.Name == "I" || p.Name == "M" {
			continue
		}
		t.Run(p.Title, func(t *testing.T) {
			t.Parallel()
			Report(t, p.Ask(t.Context(), open(t).target(t)))
		})
	}
}

// Report fails the test unless the probe passed, and skips it if a hook is missing.
func Report(t *testing.T, got probe.Result) {
	t.Helper()
	for _, f := range got.Findings {
		if f.Verdict == probe.Pass {
			continue
		}
		rule := probe.AUTH19.Rules[f.Rule]
		t.Errorf("%s: %s; want %s: %s", f.Rule, f.Got, rule.Wanted(), rule.Says)
		for _, e := range f.Exchanges {
			t.Logf("%.2500s\n%.2500s", e.Curl(), e.Response())
		}
	}
	switch {
	case got.Verdict == probe.NotApplicable:
		t.Skip("NOT TESTED: " + got.Note)
	case got.Verdict != probe.Pass:
		t.Errorf("%s: %s", got.Verdict, got.Note)
	}
}

// target describes the route to the probes.
func (r Route) target(t *testing.T) *probe.Target {
	t.Helper()
	servers := []string{r.URL}
	if r.Replica != "" {
		servers = append(servers, r.Replica)
	}
	return &probe.Target{
		Servers: servers, Profile: probe.AUTH19, Header: probe.AUTH19.Header, Seed: rand.Uint64(),
		Keys: 2, Crowd: 24, Timeout: time.Minute, Patience: 10 * time.Second, Settle: 250 * time.Millisecond,
		Prepare: func(context.Context, string) (*probe.Operation, error) { return r.operation(t), nil },
	}
}

func (r Route) operation(t *testing.T) *probe.Operation {
	t.Helper()
	op := &probe.Operation{
		A: r.Principal, B: r.Peer, Do: r.Request.sent(), Effects: func(context.Context) (int, error) { return r.Effects(t), nil },
		FailBefore: fails(t, r.Fail), FailAfter: fails(t, r.FailRecord),
	}
	if r.Refused != (Request{}) {
		op.Refused = new(r.Refused.sent())
	}
	for _, other := range r.Others {
		if other.Method == r.Request.Method && other.Path == r.Request.Path {
			op.Others = append(op.Others, other.sent())
		} else {
			op.Routes = append(op.Routes, other.sent())
		}
	}
	if r.Expire != nil {
		op.Expire = func(context.Context) error { r.Expire(t); return nil }
	}
	if r.Hold != nil {
		var hold Hold
		op.HoldBefore = func(context.Context) (probe.Trap, error) {
			hold = r.Hold(t)
			return probe.Trap{Await: run(hold.Await), Undo: run(hold.Release)}, nil
		}
		op.Kill = func(context.Context) error { hold.Crash(); return nil }
	}
	return op
}

func (r Request) sent() probe.Request {
	return probe.Request{Method: r.Method, Path: r.Path, Body: r.Body}
}

func run(hook func()) func(context.Context) error {
	return func(context.Context) error { hook(); return nil }
}

func fails(t *testing.T, hook func(*testing.T) (repair func())) func(context.Context) (probe.Trap, error) {
	t.Helper()
	if hook == nil {
		return nil
	}
	return func(context.Context) (probe.Trap, error) { return probe.Trap{Undo: run(hook(t))}, nil }
}
