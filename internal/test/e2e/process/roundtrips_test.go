package process_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/internal/test/pg/roundtrips"
)

// A guarded command may make one round trip to claim its key, one to load, and one to
// write and commit. A replay may make one before it is answered.
const (
	maxCommandTrips = 3
	maxReplayTrips  = 1
)

// startCounted starts a replica whose round trips to the database are counted. It has
// one connection, so that a statement that was prepared stays prepared.
func startCounted(t testing.TB, env *e2e.Env) (*e2e.Service, *roundtrips.Proxy) {
	t.Helper()
	proxy, err := roundtrips.Start(env.ServiceURL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	url := e2e.WithParameter(t, proxy.URL(), "pool_max_conns", "1")
	return env.StartReplica(t, "ORDERS_DATABASE_URL="+url), proxy
}

// Round trips are counted on the wire. Statements are prepared by a call before.
// Housekeeping does not count: blocks of IDs, and checks whether a connection is alive.
func TestCommands_MakeFewRoundTrips(t *testing.T) {
	s, proxy := startCounted(t, e2e.NewEnv(t))
	for _, route := range e2e.GuardedRoutes() {
		s.MustSend(t, s.Prepare(t, route).WithKey(s.NewKey())) // prepares the statements
		call := s.Prepare(t, route).WithKey(s.NewKey())
		proxy.Take()
		s.MustSend(t, call)
		wantAtMost(t, route, maxCommandTrips, proxy.Take())
	}
}

// The replica has not seen the first request, so it cannot have cached the response.
// How the transaction ends after the response does not count.
func TestReplay_MakesOneRoundTrip(t *testing.T) {
	env := e2e.NewEnv(t)
	first := env.StartReplica(t)
	other, proxy := startCounted(t, env)
	warmUp, credit := env.CreditCall(t, e2e.Alice, "1.00"), env.CreditCall(t, e2e.Alice, "1.00")
	e2e.Want[e2e.Transaction](t, first, http.StatusCreated, warmUp)
	e2e.Want[e2e.Transaction](t, first, http.StatusCreated, credit)
	other.MustSend(t, warmUp)
	e2e.Eventually(t, "the transaction of the warm-up has ended", proxy.Idle)
	proxy.Take()

	release := proxy.HoldAfter(maxReplayTrips)
	tooMany := time.AfterFunc(e2e.Patience, release)
	replay := other.MustSend(t, credit)

	if !tooMany.Stop() {
		wantAtMost(t, "a replay", maxReplayTrips, proxy.Take())
	}
	release()
	if !replay.Replayed() {
		t.Errorf("not a replay: %v", replay.Header)
	}
}

// wantAtMost reports what each round trip was for when there are too many.
func wantAtMost(t *testing.T, what string, limit int, trips []roundtrips.Trip) {
	t.Helper()
	if len(trips) > limit {
		t.Errorf("%s made %d round trips, want at most %d:", what, len(trips), limit)
		for i, trip := range trips {
			t.Logf("%d:\n\t%s", i+1, strings.ReplaceAll(strings.Join(trip, ";\n"), "\n", "\n\t"))
		}
	}
}
