package guard_test

import (
	"net/http"
	"slices"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// Sixty equal requests at the same moment in two processes. All of them have arrived
// before the one that runs can end, because it waits for a locked row.
func TestGuard_RunsOneOfSixtyConcurrentRequests(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	settings := []string{env.DatabaseSetting(t, "pool_max_conns", "20"), patientDuplicates}
	here, there := env.StartReplica(t, settings...), env.StartReplica(t, settings...)
	for _, route := range e2e.GuardedRoutes() {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			c := here.Prepare(t, route)
			first, arrivedHere := behind(t, here)
			second, arrivedThere := behind(t, there)
			row := c.LockRow(t)
			sent := sendAll(t, slices.Repeat([]e2e.Call{c.WithKey(c.NewKey())}, 60), first, second)
			e2e.Eventually(t, "all requests have arrived, and one of them waits", func() bool {
				return arrivedHere.arrived.Load()+arrivedThere.arrived.Load() == 60 && row.Waiters(t) > 0
			})
			row.Release()
			wantOneRun(t, c, sent.await(t))
		})
	}
}

// Duplicates of a slow command wait without a connection, in its own replica and in another
// one: the command has one of the four connections of its replica, and fifty duplicates
// leave the others to everybody else. The order of events proves it: other requests are
// answered while the command and its duplicates wait.
func TestGuard_DuplicatesWaitWithoutConnection(t *testing.T) {
	t.Parallel()
	const duplicates = 50
	env := e2e.NewEnv(t)
	settings := []string{env.DatabaseSetting(t, "pool_max_conns", "4"), patientDuplicates}
	here, there := env.StartReplica(t, settings...), env.StartReplica(t, settings...)
	c := here.Prepare(t, "confirmPayment")
	row := c.LockRow(t)
	call := c.WithKey(c.NewKey())
	first := sendAll(t, []e2e.Call{call}, here)
	row.AwaitWaiter(t)
	own, duplicatesHere := behind(t, here)
	other, duplicatesThere := behind(t, there)
	waiting := sendAll(t, slices.Repeat([]e2e.Call{call}, duplicates), own, other)
	e2e.Eventually(t, "duplicates have given their connections back", func() bool {
		return duplicatesHere.arrived.Load()+duplicatesThere.arrived.Load() == duplicates &&
			env.Count(t, `SELECT count(*) FROM pg_stat_activity
				WHERE datname = current_database() AND application_name = 'orders' AND query = 'rollback'`) > 0
	})
	var credits []e2e.Call
	for range 16 {
		credits = append(credits, env.CreditCall(t, env.UniqueName("customer"), "1.00"))
	}

	for _, r := range sendAll(t, credits, here, there).await(t) {
		if r.Status != http.StatusCreated {
			t.Errorf("another request got %d %s, want 201", r.Status, r.Body)
		}
	}

	if n := duplicatesHere.answered.Load() + duplicatesThere.answered.Load(); n != 0 {
		t.Errorf("%d duplicates were answered before the other requests", n)
	}
	if row.Waiters(t) != 1 {
		t.Error("the slow command ended before the other requests")
	}
	if n := env.Count(t, `SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
		WHERE d.datname = current_database() AND l.locktype = 'advisory' AND NOT l.granted`); n != 0 {
		t.Errorf("%d connections wait in the database for a key", n)
	}
	row.Release()
	wantOneRun(t, c, append(waiting.await(t), first.await(t)...))
}
