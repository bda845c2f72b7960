package e2e_test

import (
	"context"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	devissuer "example.com/orders/internal/dev/issuer"
	contracttest "example.com/orders/internal/test/contract"
)

// scene is a guarded command that is ready to run, and what the tests of the guard
// need to know of it. Each scene has people and goods of its own, so that scenes of one
// world do not meet.
type scene struct {
	*service
	operation contracttest.Operation
	// subject sends the call in that role, without a key yet, and gets status.
	subject, role string
	call          call
	status        int
	// other is a body for something else, as good as that of the call; empty where
	// there is nothing else to ask for.
	other string
	// elsewhere is the path of another thing with which the same could be done; empty
	// where the path names none.
	elsewhere string
	// peer is the token of another principal who sends the very same request with the
	// same key, and peerStatus what that comes to.
	peer       string
	peerStatus int
	// locks takes a row that the command has to lock.
	locks query
	// effects counts what the command does.
	effects query
	// done and kept are how much of that, and how many records of the subject, there were
	// before the scene began.
	done, kept int
	// turnedAway are calls that end in 403 or 404, by their code.
	turnedAway map[string]call
}

// refusal is a scene whose call the use case refuses with a code, until it is cured.
type refusal struct {
	scene
	refused int
	code    string
	// cure removes the cause; nil where there is no way.
	cure func()
}

// guardedRoute makes scenes for one route.
type guardedRoute struct {
	scene    func(s *service) scene
	refusals map[string]func(s *service) refusal
}

// guarded is the contract's guarded operations.
func guarded(v *contracttest.Validator) map[string]contracttest.Operation {
	operations := map[string]contracttest.Operation{}
	for _, op := range v.Operations() {
		if op.Idempotent {
			operations[op.ID] = op
		}
	}
	return operations
}

// eachGuardedRoute runs a test for every guarded route, each on a scene of its own.
func eachGuardedRoute(t *testing.T, s *service, test func(c scene)) {
	t.Helper()
	for id := range guardedRoutes {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			test(s.in(t).scene(id))
		})
	}
}

// eachRefusal runs a test for every refusal of every guarded route.
func eachRefusal(t *testing.T, s *service, test func(r refusal)) {
	t.Helper()
	for id, route := range guardedRoutes {
		for name := range route.refusals {
			t.Run(id+" "+name, func(t *testing.T) {
				t.Parallel()
				test(s.in(t).refusal(id, name))
			})
		}
	}
}

func (s *service) scene(id string) scene {
	s.Helper()
	return s.begin(id, guardedRoutes[id].scene(s))
}

func (s *service) refusal(id, name string) refusal {
	s.Helper()
	r := guardedRoutes[id].refusals[name](s)
	r.scene = s.begin(id, r.scene)
	return r
}

// begin completes a scene with what all of them have.
func (s *service) begin(id string, c scene) scene {
	s.Helper()
	c.service, c.operation = s, guarded(s.contract)[id]
	c.call.method, c.call.token = c.operation.Method, s.token(c.subject, c.role)
	c.done, c.kept = s.count(c.effects.sql, c.effects.args...), c.records()
	return c
}

// at moves the scene to another replica.
func (c scene) at(s *service) scene {
	c.service = s
	return c
}

// sub runs a subtest of the scene.
func (c scene) sub(name string, test func(c scene)) {
	c.Helper()
	c.TB.(*testing.T).Run(name, func(t *testing.T) { test(c.at(c.in(t))) })
}

// anew runs a subtest of the scene on another one like it, where nothing has happened yet.
func (c scene) anew(name string, test func(c scene)) {
	c.Helper()
	c.sub(name, func(c scene) { test(c.scene(c.operation.ID)) })
}

// with is the scene's call with a key.
func (c scene) with(key string) call {
	asked := c.call
	asked.key = key
	return asked
}

// run sends the call with a new key, which must take effect.
func (c scene) run(key string) reply {
	c.Helper()
	r := c.send(c.with(key))
	c.wantFirst(r, c.status)
	c.wantEffects(1)
	return r
}

// wantFirst checks the answer to a request that ran.
func (c scene) wantFirst(r reply, status int) {
	c.Helper()
	if r.status != status {
		c.Fatalf("%s: status %d, want %d: %s", c.operation.ID, r.status, status, r.body)
	}
	c.wantOutcome(r, "created", "")
}

// wantOutcome checks what an answer says of the guard.
func (c scene) wantOutcome(r reply, result, replayed string) {
	c.Helper()
	got := [2]string{r.header.Get("Idempotency-Result"), r.header.Get("Idempotent-Replayed")}
	if want := [2]string{result, replayed}; got != want {
		c.Errorf("Idempotency-Result and Idempotent-Replayed are %q, want %q: %d %s", got, want, r.status, r.body)
	}
}

// storedHeaders are those that belong to a stored answer.
var storedHeaders = []string{"Location", "Content-Type", "Idempotency-Key", "Idempotency-Expires"}

// wantReplay checks that again is the stored answer of first.
func (c scene) wantReplay(first, again reply) {
	c.Helper()
	if again.status != first.status || string(again.body) != string(first.body) {
		c.Errorf("the replay is %d %s\nthe answer was %d %s", again.status, again.body, first.status, first.body)
	}
	for _, name := range storedHeaders {
		if got, want := again.header.Values(name), first.header.Values(name); !slices.Equal(got, want) {
			c.Errorf("the replay's %s is %q, want %q", name, got, want)
		}
	}
	c.wantOutcome(again, "reused", "true")
}

// wantEffects checks how often the command took effect.
func (c scene) wantEffects(n int) {
	c.Helper()
	if got := c.count(c.effects.sql, c.effects.args...) - c.done; got != n {
		c.Errorf("%s took effect %d times, want %d", c.operation.ID, got, n)
	}
}

// principal is how the guard names whoever sends the call.
func (c scene) principal() string { return devissuer.Name + " " + c.subject }

// records counts what the guard has kept of the one who sends the call.
func (c scene) records() int {
	c.Helper()
	return c.count("SELECT count(*) FROM idempotency_record WHERE scope = $1", c.principal()) - c.kept
}

// wantFree checks that nothing happened and that the key can still be used.
func (c scene) wantFree(key string) {
	c.Helper()
	c.wantEffects(0)
	if n := c.records(); n != 0 {
		c.Errorf("the guard has kept %d records, want none", n)
	}
	c.run(key)
}

// lock is rows that a test keeps locked, on a connection of its own.
type lock struct {
	*world
	conn *pgx.Conn
}

// hold locks the rows of a query until release, or the end of the test.
func (w *world) hold(rows query) lock {
	w.Helper()
	conn, err := pgx.Connect(w.Context(), w.databaseURL)
	if err != nil {
		w.Fatal(err)
	}
	l := lock{w, conn}
	w.Cleanup(l.release)
	tx, err := conn.Begin(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	if tag, err := tx.Exec(w.Context(), rows.sql, rows.args...); err != nil || tag.RowsAffected() == 0 {
		w.Fatalf("%s: %v, %v", rows.sql, tag, err)
	}
	return l
}

// awaitWaiter waits until a command stands before the locked rows.
func (l lock) awaitWaiter() {
	l.Helper()
	eventually(l, "a command comes to the locked rows", func() bool { return l.waiters("count(*)") > 0 })
}

// killWaiters ends the connections of the commands that stand before the locked rows.
func (l lock) killWaiters() {
	l.Helper()
	if l.waiters("count(*) FILTER (WHERE pg_terminate_backend(pid))") == 0 {
		l.Error("no connection was there to be ended")
	}
}

// waiters counts the connections that stand before the locked rows.
func (l lock) waiters(count string) int {
	l.Helper()
	return l.count("SELECT "+count+" FROM pg_stat_activity WHERE $1::int = ANY(pg_blocking_pids(pid))", l.conn.PgConn().PID())
}

// release ends the transaction that holds the rows, by its connection's end.
func (l lock) release() { _ = l.conn.Close(context.WithoutCancel(l.Context())) }
