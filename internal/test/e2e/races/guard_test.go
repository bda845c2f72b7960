package races_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// Sixty equal requests at the same moment, in one process or in two. All of them have
// arrived before the one that runs can end, because it waits for a locked row.
func TestGuard_RunsOneOfSixtyConcurrentRequests(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	here := env.StartReplica(t, manyConnections(t, env), patientDuplicates)
	there := env.StartReplica(t, manyConnections(t, env), patientDuplicates)
	for name, replicas := range map[string][]*e2e.Service{"in one process": {here}, "in two processes": {here, there}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, route := range e2e.GuardedRoutes() {
				t.Run(route, func(t *testing.T) {
					t.Parallel()
					c := here.Prepare(t, route)
					p := &proxy{}
					var proxied []*e2e.Service
					for _, replica := range replicas {
						proxied = append(proxied, behind(t, replica, p))
					}
					row := c.LockRow(t)
					sent := sendAll(t, slices.Repeat([]e2e.Call{c.WithKey(c.NewKey())}, 60), proxied...)
					e2e.Eventually(t, "all requests have arrived", func() bool { return p.arrived.Load() == 60 })
					row.AwaitWaiter(t)
					row.Release()
					c.WantFirst(t, wantOneRun(t, c, sent.await(t)), c.Status)
					c.WantEffects(t, 1)
				})
			}
		})
	}
}

// Two requests at the same moment on two replicas, many times, so that either may win:
// one effect, one record, and the same bytes for both clients.
func TestGuard_RunsOneOfTwoConcurrentRequests(t *testing.T) {
	t.Parallel()
	const rounds = 30
	for _, route := range e2e.GuardedRoutes() {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			a, b := e2e.StartTwoReplicas(t, nil)
			for range rounds {
				c := a.Prepare(t, route)
				call := c.WithKey(c.NewKey())
				records := a.Count(t, "SELECT count(*) FROM idempotency_record")
				r := e2e.SendTogether(t, a.Request(call), b.Request(call))
				if r[0].Status/100 != 2 || !r[0].SameAs(r[1]) {
					t.Errorf("two responses to one key:\n%d %s\n%d %s", r[0].Status, r[0].Body, r[1].Status, r[1].Body)
				}
				results := []string{r[0].Header.Get("Idempotency-Result"), r[1].Header.Get("Idempotency-Result")}
				slices.Sort(results)
				if !slices.Equal(results, []string{"created", "reused"}) {
					t.Errorf("Idempotency-Result: %q, want one created and one reused", results)
				}
				if n := a.Count(t, "SELECT count(*) FROM idempotency_record") - records; n != 1 {
					t.Errorf("%d records, want 1", n)
				}
				c.WantEffects(t, 1)
			}
		})
	}
}

// The first of two different requests decides what the key is for.
func TestGuard_RunsOneOfTwoRequestsThatShareKey(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	here := env.StartReplica(t, manyConnections(t, env), patientDuplicates)
	there := env.StartReplica(t, manyConnections(t, env), patientDuplicates)
	for _, route := range e2e.GuardedRoutes() {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			c := here.Prepare(t, route)
			if c.OtherBody == "" {
				t.Skip("the contract has only one request for this path")
			}
			one := c.WithKey(c.NewKey())
			two := one.WithBody(c.OtherBody)
			replies := sendAll(t, slices.Repeat([]e2e.Call{one, one, two, two}, 13), here, there).await(t)
			var byRequest [2][]e2e.Reply
			for i, r := range replies {
				byRequest[i/2%2] = append(byRequest[i/2%2], r)
			}
			won, lost := byRequest[0], byRequest[1]
			if lost[0].Code() != "idempotency_key_reused" {
				won, lost = lost, won
			}
			effects := 0
			if wantOneRun(t, c, won).Status == c.Status {
				effects = 1 // the other request may be one that is refused
			}
			c.WantEffects(t, effects)
			for _, r := range lost {
				if r.Verdict() != "409 idempotency_key_reused" {
					t.Errorf("the other request got %d %s, want 409 idempotency_key_reused", r.Status, r.Body)
				}
				c.WantNotGuarded(t, r)
			}
		})
	}
}

// Fifty keys are fifty operations, and still an order is paid once.
func TestConfirmPayment_PaysOrderOnceWhateverTheKeys(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	here, there := env.StartReplica(t, manyConnections(t, env)), env.StartReplica(t, manyConnections(t, env))
	c := here.Prepare(t, "confirmPayment")
	var calls []e2e.Call
	for range 50 {
		calls = append(calls, c.WithKey(c.NewKey()))
	}
	row := c.LockRow(t)
	sent := sendAll(t, calls, here, there)
	row.AwaitWaiter(t)
	row.Release()
	paid := 0
	for _, r := range sent.await(t) {
		c.WantResult(t, r, "created", "")
		switch {
		case r.Status == http.StatusOK:
			paid++
		case r.Verdict() != "409 invalid_order_state":
			t.Errorf("got %d %s, want 200 or 409 invalid_order_state", r.Status, r.Body)
		}
	}
	if paid != 1 {
		t.Errorf("the order was paid %d times, want once", paid)
	}
	c.WantEffects(t, 1)
	c.WantBalance(t, c.Subject, "800.00") // of 1000.00
}

// A duplicate that may not wait as long as the first request takes is asked to retry,
// and then gets the response.
func TestGuard_ReportsRequestInProgress(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	const impatientDuplicates = "ORDERS_IDEMPOTENCY_WAIT=50ms"
	here := env.StartReplica(t, manyConnections(t, env), impatientDuplicates)
	there := env.StartReplica(t, manyConnections(t, env), impatientDuplicates)
	for _, route := range e2e.GuardedRoutes() {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			c := here.Prepare(t, route)
			call := c.WithKey(c.NewKey())
			row := c.LockRow(t)
			first := sendAll(t, []e2e.Call{call}, here)
			row.AwaitWaiter(t)
			for _, r := range sendAll(t, slices.Repeat([]e2e.Call{call}, 6), here, there).await(t) {
				if r.Verdict() != "409 idempotency_in_progress" || r.Header.Get("Retry-After") == "" {
					t.Errorf("got %d %v %s, want 409 idempotency_in_progress with Retry-After", r.Status, r.Header, r.Body)
				}
				c.WantNotGuarded(t, r)
			}
			c.WantEffects(t, 0)

			row.Release()

			response := first.await(t)[0]
			c.WantFirst(t, response, c.Status)
			c.WantReplay(t, response, here.Send(t, call))
			c.WantReplay(t, response, there.Send(t, call))
			c.WantEffects(t, 1)
		})
	}
}

// A duplicate waits only while its client waits, and has nothing to finish afterwards.
func TestGuard_StopsWaitingWhenClientOfDuplicateHangsUp(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	s := env.StartReplica(t, manyConnections(t, env), patientDuplicates)
	for _, route := range e2e.GuardedRoutes() {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			c := s.Prepare(t, route)
			key := c.NewKey()
			row := c.LockRow(t)
			first := sendAll(t, []e2e.Call{c.WithKey(key)}, s)
			row.AwaitWaiter(t)
			p := &proxy{}
			hangUp, failed := sendAndHangUp(t, c.On(behind(t, s, p)), key)
			e2e.Eventually(t, "the duplicate arrives", func() bool { return p.arrived.Load() == 1 })

			hangUp()

			wantNoResponse(t, failed)
			e2e.Eventually(t, "the duplicate ends", func() bool { return p.finished.Load() == 1 })
			row.Release()
			c.WantFirst(t, first.await(t)[0], c.Status)
			c.WantEffects(t, 1)
		})
	}
}

// Duplicates of a slow command wait without a connection, in its own replica and in another
// one: the command has one of the four connections of its replica, and fifty duplicates
// leave the others to everybody else. The order of events proves it: other requests are
// answered while the command and its duplicates wait.
func TestGuard_DuplicatesWaitWithoutConnection(t *testing.T) {
	t.Parallel()
	const connections, duplicates, others = 4, 50, 16
	for _, route := range e2e.GuardedRoutes() {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			env := e2e.NewEnv(t)
			settings := []string{env.DatabaseSetting(t, "pool_max_conns", fmt.Sprint(connections)), patientDuplicates}
			s, other := env.StartReplica(t, settings...), env.StartReplica(t, settings...)
			c := s.Prepare(t, route)
			var credits []e2e.Call
			for range others {
				credits = append(credits, s.CreditCall(t, s.UniqueName("customer"), "1.00"))
			}
			row := c.LockRow(t)
			call := c.WithKey(c.NewKey())
			first := sendAll(t, []e2e.Call{call}, s)
			row.AwaitWaiter(t)
			p := &proxy{}
			waiting := sendAll(t, slices.Repeat([]e2e.Call{call}, duplicates), behind(t, s, p), behind(t, other, p))
			e2e.Eventually(t, "duplicates have given their connections back", func() bool {
				return p.arrived.Load() == duplicates && countConnections(t, env, "query = 'rollback'") > 0
			})

			for _, r := range sendAll(t, credits, s, other).await(t) {
				if r.Status != http.StatusCreated {
					t.Errorf("another request got %d %s, want 201", r.Status, r.Body)
				}
			}

			if n := p.finished.Load(); n != 0 {
				t.Errorf("%d duplicates were answered before the other requests", n)
			}
			if row.Waiters(t) != 1 {
				t.Error("the slow command ended before the other requests")
			}
			wantOnlyConnectionsInUse(t, env, 2*connections)
			row.Release()
			response := first.await(t)[0]
			c.WantFirst(t, response, c.Status)
			for _, r := range waiting.await(t) {
				c.WantReplay(t, response, r)
			}
			c.WantEffects(t, 1)
		})
	}
}

// wantOnlyConnectionsInUse checks that the service has at most so many connections, and
// that none of them waits for a key.
func wantOnlyConnectionsInUse(t testing.TB, env *e2e.Env, limit int) {
	t.Helper()
	if n := countConnections(t, env, "TRUE"); n > limit {
		t.Errorf("the service has %d connections, want %d", n, limit)
	}
	if n := env.Count(t, `SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
		WHERE d.datname = current_database() AND l.locktype = 'advisory' AND NOT l.granted`); n != 0 {
		t.Errorf("%d connections wait in the database for a key", n)
	}
}

// countConnections counts the connections of the service for which a condition holds.
func countConnections(t testing.TB, env *e2e.Env, condition string) int {
	t.Helper()
	return env.Count(t, `SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND application_name = 'orders' AND `+condition)
}
