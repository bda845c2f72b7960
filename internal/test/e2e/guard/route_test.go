package guard_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"example.com/orders/internal/idempotency/routetest"
	"example.com/orders/internal/test/e2e"
)

// The suite that goes along with a copy of the guard also holds for this service. It is
// the test of AUTH-19 for two routes; the other tests here are about what routes differ in.
func TestGuard_PassesTheSuiteForCopies(t *testing.T) {
	t.Parallel()
	for route, refused := range map[string]string{
		"chargeBalance": `{"amount": {"amount": "1000.00", "currency": "RUB"}}`,
		"createOrder":   `{"items": [{"sku": "unknown", "quantity": 1}]}`,
	} {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			routetest.Run(t, func(t *testing.T) routetest.Route {
				t.Helper()
				return openRoute(t, route, refused)
			})
		})
	}
}

// effectTables are where the commands write.
var effectTables = map[string]string{"chargeBalance": "ledger_entry", "createOrder": "orders"}

func openRoute(t *testing.T, route, refused string) routetest.Route {
	t.Helper()
	env := e2e.NewEnv(t)
	here, there := newRestartable(t, env), newRestartable(t, env)
	c := here.service.Load().Prepare(t, route)
	request := func(path, body string) routetest.Request {
		return routetest.Request{Method: c.Call.Method, Path: path, Body: body}
	}
	count := func(t *testing.T) int {
		t.Helper()
		return env.Count(t, c.Effects.SQL, c.Effects.Args...)
	}
	before := count(t)
	others := []routetest.Request{request(c.Call.Path, c.OtherBody)}
	if c.OtherPath != "" {
		others = append(others, request(c.OtherPath, c.Call.Body))
	}
	return routetest.Route{
		URL: here.url, Replica: there.url,
		Request:   request(c.Call.Path, c.Call.Body),
		Others:    others,
		Refused:   request(c.Call.Path, refused),
		Principal: http.Header{"Authorization": {"Bearer " + c.Call.Token}},
		Peer:      http.Header{"Authorization": {"Bearer " + c.Peer}},
		Effects: func(t *testing.T) int {
			t.Helper()
			return count(t) - before
		},
		Hold: func(t *testing.T) routetest.Hold {
			t.Helper()
			lock := env.LockRows(t, c.Locks.SQL, c.Locks.Args...)
			return routetest.Hold{Await: func() { lock.AwaitWaiter(t) }, Crash: func() { lock.KillWaiters(t) }, Release: lock.Release}
		},
		Fail:       breakTable(env, effectTables[route]),
		FailRecord: breakTable(env, "idempotency_record"),
		Expire: func(t *testing.T) {
			t.Helper()
			env.Exec(t, "UPDATE idempotency_record SET expires_at = now() - interval '1 second'")
			here.restart(t, env) // a process may remember records until they would have expired
			there.restart(t, env)
		},
	}
}

// breakTable returns a hook that lets every write to a table fail.
func breakTable(env *e2e.Env, table string) func(t *testing.T) (repair func()) {
	return func(t *testing.T) func() {
		t.Helper()
		env.Exec(t, "ALTER TABLE "+table+" ADD CONSTRAINT broken CHECK (false) NOT VALID")
		return func() { env.Exec(t, "ALTER TABLE "+table+" DROP CONSTRAINT broken") }
	}
}

// restartable is a replica that keeps its URL when it is replaced by a new one.
type restartable struct {
	url     string
	service atomic.Pointer[e2e.Service]
}

func newRestartable(t *testing.T, env *e2e.Env) *restartable {
	t.Helper()
	r := &restartable{}
	r.restart(t, env)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.service.Load().App.Handler().ServeHTTP(w, req)
	}))
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

func (r *restartable) restart(t *testing.T, env *e2e.Env) {
	t.Helper()
	r.service.Store(env.StartReplica(t))
}
