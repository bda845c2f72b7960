package routes

import (
	"cmp"
	"slices"
	"testing"

	devissuer "example.com/orders/internal/dev/issuer"
	contracttest "example.com/orders/internal/test/contract"
	"example.com/orders/internal/test/e2e"
)

// Command is a prepared request: everything it needs exists, and it has not been sent.
// Each has separate people, products and orders, so that commands in one environment do
// not meet. The members below Status are for guarded routes only.
type Command struct {
	*e2e.Service
	Operation contracttest.Operation
	// Call is the request; it has no key yet. Subject sends it in Role.
	Call          e2e.Call
	Subject, Role string
	// Customer and Seller own the resource: Alice and the shop unless set.
	Customer, Seller string
	// Status is the expected response status.
	Status int

	// OtherBody asks for something else and is as valid as the body of the call; empty if
	// there is no alternative.
	OtherBody string
	// OtherPath names a second resource that accepts the same body; empty if the path
	// names no resource.
	OtherPath string
	// Peer is a token for a second principal who may send the same request, and
	// PeerStatus the response status after the command took effect.
	Peer       string
	PeerStatus int
	Locks      Query
	Effects    Query
	// Denied holds the subject's calls that end in 403 or 404, by code.
	Denied map[string]e2e.Call

	route                        string
	effectsBefore, recordsBefore int
}

// Query is an SQL statement with arguments.
type Query struct {
	SQL  string
	Args []any
}

// Refusal is a command that the use case refuses with a status and a code.
type Refusal struct {
	Command
	RefusedStatus int
	Code          string
	// Cure removes the cause, so that the command would succeed; nil if that is
	// impossible.
	Cure func()
}

// Prepare prepares the request for a route, which is a key in [All].
func Prepare(t testing.TB, s *e2e.Service, route string) Command {
	t.Helper()
	return complete(t, s, route, All[route].Prepare(t, s))
}

// PrepareRefusal prepares a command that the use case refuses.
func PrepareRefusal(t testing.TB, s *e2e.Service, of RefusalName) Refusal {
	t.Helper()
	r := All[of.Route].Refusals[of.Reason](t, s)
	r.Command = complete(t, s, of.Route, r.Command)
	return r
}

func complete(t testing.TB, s *e2e.Service, route string, c Command) Command {
	t.Helper()
	c.Service, c.route, c.Operation = s, route, operation(t, s.Contract, route)
	c.Call.Method = c.Operation.Method
	c.Customer, c.Seller = cmp.Or(c.Customer, e2e.Alice), cmp.Or(c.Seller, e2e.Shop)
	if c.Subject != "" {
		c.Call.Token = s.Token(t, c.Subject, c.Role)
	}
	if c.Operation.Idempotent {
		c.effectsBefore, c.recordsBefore = c.countEffects(t), c.countRecords(t)
	}
	return c
}

func operation(t testing.TB, contract *contracttest.Validator, route string) contracttest.Operation {
	t.Helper()
	id := cmp.Or(All[route].Operation, route)
	operations := contract.Operations()
	i := slices.IndexFunc(operations, func(op contracttest.Operation) bool { return op.ID == id })
	if i < 0 {
		t.Fatalf("the contract has no operation %s", id)
	}
	return operations[i]
}

// On returns the command as it is sent to a given replica.
func (c Command) On(s *e2e.Service) Command {
	c.Service = s
	return c
}

// WithKey returns the call with a key.
func (c Command) WithKey(key string) e2e.Call { return c.Call.WithKey(key) }

// MustRun sends the call with a new key. It must take effect.
func (c Command) MustRun(t testing.TB, key string) e2e.Reply {
	t.Helper()
	r := c.Send(t, c.WithKey(key))
	c.WantFirst(t, r, c.Status)
	c.WantEffects(t, 1)
	return r
}

// WantFirst checks the response to a request that ran.
func (c Command) WantFirst(t testing.TB, r e2e.Reply, status int) {
	t.Helper()
	if r.Status != status {
		t.Fatalf("%s: status %d, want %d: %s", c.route, r.Status, status, r.Body)
	}
	c.WantResult(t, r, "created", "")
}

// WantResult checks the guard headers Idempotency-Result and Idempotent-Replayed.
func (c Command) WantResult(t testing.TB, r e2e.Reply, result, replayed string) {
	t.Helper()
	got := [2]string{r.Header.Get("Idempotency-Result"), r.Header.Get("Idempotent-Replayed")}
	if want := [2]string{result, replayed}; got != want {
		t.Errorf("Idempotency-Result and Idempotent-Replayed are %q, want %q: %d %s", got, want, r.Status, r.Body)
	}
}

// WantNotGuarded checks that a response does not come from the guard.
func (c Command) WantNotGuarded(t testing.TB, r e2e.Reply) {
	t.Helper()
	c.WantResult(t, r, "", "")
}

var storedHeaders = []string{"Location", "Content-Type", "Idempotency-Key", "Idempotency-Expires"}

// WantReplay checks that replay is the stored response that first was.
func (c Command) WantReplay(t testing.TB, first, replay e2e.Reply) {
	t.Helper()
	if !replay.SameAs(first) {
		t.Errorf("the replay is %d %s\nthe first response was %d %s", replay.Status, replay.Body, first.Status, first.Body)
	}
	for _, name := range storedHeaders {
		if got, want := replay.Header.Values(name), first.Header.Values(name); !slices.Equal(got, want) {
			t.Errorf("%s of the replay is %q, want %q", name, got, want)
		}
	}
	c.WantResult(t, replay, "reused", "true")
}

// WantEffects checks how often the command took effect since it was prepared.
func (c Command) WantEffects(t testing.TB, n int) {
	t.Helper()
	if got := c.countEffects(t) - c.effectsBefore; got != n {
		t.Errorf("%s took effect %d times, want %d", c.route, got, n)
	}
}

func (c Command) countEffects(t testing.TB) int {
	t.Helper()
	return c.Count(t, c.Effects.SQL, c.Effects.Args...)
}

// Scope is the key scope of the subject.
func (c Command) Scope() string { return devissuer.Name + " " + c.Subject }

// countRecords counts the records that the guard has stored for the subject.
func (c Command) countRecords(t testing.TB) int {
	t.Helper()
	return c.Count(t, "SELECT count(*) FROM idempotency_record WHERE scope = $1", c.Scope())
}

// WantKeyFree checks that there was no effect and that the key can still be used.
func (c Command) WantKeyFree(t testing.TB, key string) {
	t.Helper()
	c.WantEffects(t, 0)
	if n := c.countRecords(t) - c.recordsBefore; n != 0 {
		t.Errorf("the guard stored %d records, want none", n)
	}
	c.MustRun(t, key)
}

// LockRow locks the row that the command has to lock, until it is released or the test
// ends.
func (c Command) LockRow(t testing.TB) e2e.RowLock {
	t.Helper()
	return c.LockRows(t, c.Locks.SQL, c.Locks.Args...)
}
