// Package guard_test tests the guard as a client sees it: keys, replays, refusals, expiry,
// and the second line of defence behind it.
package guard_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	contracttest "example.com/orders/internal/test/contract"
	"example.com/orders/internal/test/e2e"
	"example.com/orders/internal/test/e2e/routes"
	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// Every operation that takes a key is in the table of routes, so that the tests of the
// guard hold for it.
func TestGuard_IsTestedForEveryOperationThatTakesAKey(t *testing.T) {
	t.Parallel()
	guarded := routes.Guarded()
	for _, op := range contracttest.New(t).Operations() {
		if op.Idempotent && len(routes.All[op.ID].Refusals) == 0 {
			t.Errorf("%s takes a key, and the table of routes has no refusals of it", op.ID)
		}
		if !op.Idempotent && slices.Contains(guarded, op.ID) {
			t.Errorf("%s takes no key, and the table of routes has refusals of it", op.ID)
		}
	}
}

func TestGuard_ReplaysFirstResponseByteForByte(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	here, there := env.StartReplica(t), env.StartReplica(t)
	eachRoute(t, here, func(t *testing.T, c routes.Command) {
		key := c.NewKey()
		first := c.MustRun(t, key)
		if got := first.Header.Get("Idempotency-Key"); got != key {
			t.Errorf("the response echoes the key %q, want %q", got, key)
		}
		if created := first.Header.Get("Location") != ""; created != (c.Operation.ID == "createOrder") {
			t.Errorf("Location is %q", first.Header.Get("Location"))
		}
		for range 2 {
			c.WantReplay(t, first, c.Send(t, c.WithKey(key)))
			c.WantReplay(t, first, there.Send(t, c.WithKey(key).WithToken(c.Token(t, c.Subject, c.Role)))) // a new token
		}
		c.WantEffects(t, 1)
	})
}

// A key belongs to its principal: the same request with the same key of somebody else
// is another operation.
func TestGuard_SeparatesPrincipals(t *testing.T) {
	t.Parallel()
	eachRoute(t, e2e.Start(t), func(t *testing.T, c routes.Command) {
		key := c.NewKey()
		first := c.MustRun(t, key)
		ofPeer := c.WithKey(key).WithToken(c.Peer)
		r := c.Send(t, ofPeer)
		if r.Status != c.PeerStatus || r.Header.Get("Idempotent-Replayed") != "" || string(r.Body) == string(first.Body) {
			t.Errorf("the other principal got %d %v %s, want a new %d", r.Status, r.Header, r.Body, c.PeerStatus)
		}
		c.WantReplay(t, first, c.Send(t, c.WithKey(key)))
		if c.PeerStatus/100 == 2 {
			c.WantReplay(t, r, c.Send(t, ofPeer))
		}
	})
}

// Who may no longer send the command does not get its response either.
func TestGuard_ChecksTokenBeforeReplay(t *testing.T) {
	t.Parallel()
	status := map[string]int{"unauthenticated": http.StatusUnauthorized, "forbidden_role": http.StatusForbidden}
	eachRoute(t, e2e.Start(t), func(t *testing.T, c routes.Command) {
		key := c.NewKey()
		first := c.MustRun(t, key)
		for code, token := range map[string]string{
			"unauthenticated": "",
			"forbidden_role":  c.Token(t, c.Subject, roleNotAdmitted(c.Operation)),
		} {
			r := c.WantProblem(t, status[code], code, c.WithKey(key).WithToken(token))
			c.WantNotGuarded(t, r)
			if r.Header.Get("Idempotency-Expires") != "" || r.Header.Get("Location") != "" {
				t.Errorf("the refusal has headers of the stored response: %v", r.Header)
			}
		}
		c.WantReplay(t, first, c.Send(t, c.WithKey(key)))
		c.WantEffects(t, 1)
	})
}

// roleNotAdmitted returns a role that may not use an operation.
func roleNotAdmitted(op contracttest.Operation) string {
	for _, role := range []string{"customer", "seller", "admin", "system"} {
		if !slices.Contains(op.Roles, role) {
			return role
		}
	}
	panic(op.ID + " admits every role")
}

// A refusal of the use case is a response like any other: a client that did not get it
// gets it when it retries, even when the command would succeed by now. A new key is a
// new attempt.
func TestGuard_ReplaysRefusalEvenWhenItsCauseIsGone(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	for _, refusal := range routes.Refusals() {
		t.Run(refusal.String(), func(t *testing.T) {
			t.Parallel()
			r := routes.PrepareRefusal(t, s, refusal)
			key := r.NewKey()
			first := r.WantProblem(t, r.RefusedStatus, r.Code, r.WithKey(key))
			r.WantFirst(t, first, r.RefusedStatus)
			if r.Cure != nil {
				r.Cure()
			}
			r.WantReplay(t, first, r.Send(t, r.WithKey(key)))
			r.WantEffects(t, 0)
			if r.Cure != nil {
				r.MustRun(t, r.NewKey())
			}
		})
	}
}

// Permissions and resources can change: these refusals are not stored.
func TestGuard_LeavesKeyFreeAfterForbiddenOrNotFound(t *testing.T) {
	t.Parallel()
	status := map[string]int{"forbidden_resource": http.StatusForbidden, "not_found": http.StatusNotFound}
	eachRoute(t, e2e.Start(t), func(t *testing.T, c routes.Command) {
		key := c.NewKey()
		inWrongRole := c.WithKey(key).WithToken(c.Token(t, c.Subject, roleNotAdmitted(c.Operation)))
		c.WantNotGuarded(t, c.WantProblem(t, http.StatusForbidden, "forbidden_role", inWrongRole))
		for code, denied := range c.Denied {
			denied.Method, denied.Token, denied.Key = c.Call.Method, c.Call.Token, key
			c.WantNotGuarded(t, c.WantProblem(t, status[code], code, denied))
		}
		c.WantKeyFree(t, key)
	})
}

func TestGetIdempotencyKey_ReportsCommandAndStatus(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	here, there := env.StartReplica(t), env.StartReplica(t)
	eachRoute(t, here, func(t *testing.T, c routes.Command) {
		key := c.UniqueName("7?a=b%20&c#d") // a key is not a URL, whatever it looks like
		lookup := e2e.LookupCall(c.Call.Token, key)
		c.WantProblem(t, http.StatusNotFound, "not_found", lookup)
		first := c.MustRun(t, key)
		got := e2e.Want[map[string]any](t, c.Service, http.StatusOK, e2e.LookupCall(c.Call.Token, `"`+key+`"`)) // as the header may have it
		var created, expires time.Time
		if err := c.DB.QueryRow(t.Context(), "SELECT created_at, expires_at FROM idempotency_record WHERE key = $1",
			key).Scan(&created, &expires); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]any{
			"key": key, "state": "completed", "command": c.Operation.ID, "status": float64(first.Status),
			"created_at": created.UTC().Format(time.RFC3339Nano), "expires_at": expires.UTC().Format(time.RFC3339Nano),
		}, got); diff != "" {
			t.Errorf("what became of the key (-want +got):\n%s", diff)
		}
		c.WantProblem(t, http.StatusNotFound, "not_found", lookup.WithToken(c.Token(t, c.UniqueName("stranger"), c.Role)))
		c.Exec(t, "UPDATE idempotency_record SET expires_at = now() - interval '1 second' WHERE scope = $1", c.Scope())
		there.WantProblem(t, http.StatusNotFound, "not_found", lookup)
	})
}

// A client that got no answer must not take the running request for one that never
// arrived.
func TestGetIdempotencyKey_ReportsARunningRequest(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	here, there := env.StartReplica(t), env.StartReplica(t)
	c := routes.Prepare(t, here, routes.Guarded()[0])
	key := c.NewKey()
	lookup := e2e.LookupCall(c.Call.Token, key)
	row := c.LockRow(t)
	sent := sendAll(t, []e2e.Call{c.WithKey(key)}, here)
	row.AwaitWaiter(t)
	for _, replica := range []*e2e.Service{here, there} {
		r := replica.Send(t, lookup)
		if want := `{"key":"` + key + `","state":"in_progress"}`; string(r.Body) != want || r.Header.Get("Retry-After") == "" {
			t.Errorf("while the request runs: %v %s, want Retry-After and %s", r.Header, r.Body, want)
		}
	}
	there.WantProblem(t, http.StatusNotFound, "not_found", e2e.LookupCall(c.Call.Token, key+"x"))
	row.Release()
	c.WantFirst(t, sent.await(t)[0], c.Status)
	if r := there.Send(t, lookup); r.Header.Get("Retry-After") != "" || !strings.Contains(string(r.Body), `"state":"completed"`) {
		t.Errorf("after the request: %v %s", r.Header, r.Body)
	}
}

func TestGuard_RefusesAnotherRequestUnderTheKey(t *testing.T) {
	t.Parallel()
	eachRoute(t, e2e.Start(t), func(t *testing.T, c routes.Command) {
		key := c.NewKey()
		first := c.MustRun(t, key)
		others := map[string]e2e.Call{}
		if c.OtherBody != "" {
			others["another body"] = e2e.Call{Path: c.Call.Path, Body: c.OtherBody}
		}
		if c.OtherPath != "" {
			others["another path"] = e2e.Call{Path: c.OtherPath, Body: c.Call.Body}
		}
		for name, other := range others {
			t.Run(name, func(t *testing.T) {
				other.Method, other.Token, other.Key = c.Call.Method, c.Call.Token, key
				wantKeyReused(t, c.Service, other)
			})
		}
		c.WantEffects(t, 1)
		c.WantReplay(t, first, c.Send(t, c.WithKey(key)))
	})
}

// wantKeyReused sends a request whose key belongs to another one. The response says so,
// and nothing of the other one: neither its body nor when it expires.
func wantKeyReused(t testing.TB, s *e2e.Service, c e2e.Call) {
	t.Helper()
	r := s.WantProblem(t, http.StatusConflict, "idempotency_key_reused", c)
	var problem map[string]any
	if err := json.Unmarshal(r.Body, &problem); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"title", "detail"} {
		if value, _ := problem[text].(string); value == "" || strings.Contains(value, c.Key) {
			t.Errorf("the %s is missing, or mentions the key: %s", text, r.Body)
		}
		delete(problem, text)
	}
	path, _, _ := strings.Cut(c.Path, "?")
	if diff := cmp.Diff(map[string]any{
		"type":       "https://orders.example.com/problems/idempotency_key_reused",
		"status":     409.0,
		"instance":   path,
		"code":       "idempotency_key_reused",
		"request_id": r.Header.Get("X-Request-Id"),
		"retryable":  false,
		"next_key":   "look_up",
	}, problem); diff != "" {
		t.Errorf("the problem (-want +got): %s", diff)
	}
	for _, name := range []string{"Retry-After", "Location", "Idempotency-Expires", "Idempotency-Result", "Idempotent-Replayed"} {
		if got := r.Header.Get(name); got != "" {
			t.Errorf("%s is %q, want none", name, got)
		}
	}
}

// The second line of defence: unique indexes beside the effects know an operation for
// ever, when its idempotency record is long gone. They do not replace the check of the
// request: the key still belongs to its request, and another request has not taken it
// away. Late requests publish nothing.
func TestSecondLine_AnswersWhenRecordIsGone(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	here, there := env.StartReplica(t), env.StartReplica(t) // there has not seen the record
	for _, route := range routes.Guarded() {
		t.Run(route, func(t *testing.T) {
			c := routes.Prepare(t, here, route)
			key := c.NewKey()
			first := c.MustRun(t, key)
			events := c.Count(t, "SELECT count(*) FROM outbox")
			c.Exec(t, "DELETE FROM idempotency_record WHERE scope = $1", c.Scope())
			if c.OtherBody != "" {
				wantKeyReused(t, there, c.WithKey(key).WithBody(c.OtherBody))
				wantKeyReused(t, there, c.WithKey(key).WithBody(c.OtherBody))
			}

			late := there.Send(t, c.WithKey(key))

			wantSameResource(t, c, first, late)
			c.WantReplay(t, late, there.Send(t, c.WithKey(key)))
			c.WantEffects(t, 1)
			if n := c.Count(t, "SELECT count(*) FROM outbox"); n != events {
				t.Errorf("the late requests published %d events", n-events)
			}
		})
	}
}

// wantSameResource checks that a late retry got the first response, without a record.
func wantSameResource(t testing.TB, c routes.Command, first, late e2e.Reply) {
	t.Helper()
	if !late.SameAs(first) || late.Header.Get("Location") != first.Header.Get("Location") {
		t.Errorf("first: %d %s, Location %q\nlate: %d %s, Location %q", first.Status, first.Body,
			first.Header.Get("Location"), late.Status, late.Body, late.Header.Get("Location"))
	}
	c.WantResult(t, late, "reused", "")
}
