package guard_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/internal/test/e2e/routes"
	pgproxy "example.com/orders/internal/test/pg/proxy"
)

// Sixty equal requests at the same moment in two processes. All of them have arrived
// before the one that runs can end, because it waits for a locked row.
func TestGuard_RunsOneOfSixtyConcurrentRequests(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	settings := []string{env.DatabaseSetting(t, "pool_max_conns", "20"), patientDuplicates}
	here, there := env.StartReplica(t, settings...), env.StartReplica(t, settings...)
	eachRoute(t, here, func(t *testing.T, c routes.Command) {
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
	c := routes.Prepare(t, here, "confirmPayment")
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

// A replica asks the database about a key for one request at a time. While a retry waits for
// the answer, the next one is in progress behind it, although the first request has ended.
func TestGuard_DuplicateOfADuplicateIsInProgress(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	link := pgproxy.Start(t, s.ServiceURL(t))
	stalled := s.StartReplica(t, "ORDERS_DATABASE_URL="+link.URL(), "ORDERS_IDEMPOTENCY_WAIT=0s")
	credit := s.CreditCall(t, e2e.Alice, "1.00")
	first := s.MustSend(t, credit)
	asks, isAsking := e2e.NewSignal()
	resumed, resume := e2e.NewSignal()
	t.Cleanup(resume)
	link.SetHook(func(m pgproxy.Message) pgproxy.Verdict {
		if strings.HasPrefix(m.Statement, "-- name: ClaimKeys") {
			isAsking()
			<-resumed
		}
		return pgproxy.Forward
	})
	retry := sendAll(t, []e2e.Call{credit}, stalled)
	e2e.Receive(t, asks, "the retry asks the database")

	next := stalled.WantProblem(t, http.StatusConflict, "idempotency_in_progress", credit)

	if next.NextKey() != "same" {
		t.Errorf("next_key is %q, want same", next.NextKey())
	}
	resume()
	for _, r := range append(retry.await(t), stalled.MustSend(t, credit)) {
		if !r.Replayed() || !r.SameAs(first) {
			t.Errorf("a retry got %d %s, want the first response %s", r.Status, r.Body, first.Body)
		}
	}
}

// patientDuplicates makes duplicates wait as long as it takes: how a race ends must not
// depend on the speed of the machine.
const patientDuplicates = "ORDERS_IDEMPOTENCY_WAIT=30s"

// eachRoute tests the command of each guarded route.
func eachRoute(t *testing.T, s *e2e.Service, test func(t *testing.T, c routes.Command)) {
	t.Helper()
	for _, route := range routes.Guarded() {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			test(t, routes.Prepare(t, s, route))
		})
	}
}

// proxy stands in front of a replica and counts requests.
type proxy struct {
	replica           http.Handler
	arrived, answered atomic.Int64
}

// behind returns the replica as it is reached through a proxy.
func behind(t testing.TB, s *e2e.Service) (*e2e.Service, *proxy) {
	t.Helper()
	p := &proxy{replica: s.App.Handler()}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	return &e2e.Service{Env: s.Env, URL: server.URL, App: s.App}, p
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.arrived.Add(1)
	p.replica.ServeHTTP(w, r)
	p.answered.Add(1)
}

// requests are requests under way at the same time.
type requests struct {
	replies []e2e.Reply
	sending sync.WaitGroup
}

// sendAll sends all calls at the same moment, in turn to each of the replicas, and does
// not wait for responses.
func sendAll(t testing.TB, calls []e2e.Call, replicas ...*e2e.Service) *requests {
	t.Helper()
	all := &requests{replies: make([]e2e.Reply, len(calls))}
	t.Cleanup(all.sending.Wait) // the test's context is over then
	start := make(chan struct{})
	for i, c := range calls {
		all.sending.Go(func() {
			<-start
			r, err := replicas[i%len(replicas)].Try(t.Context(), t, c)
			if err != nil && t.Context().Err() == nil {
				t.Errorf("request %d: %v", i, err)
			}
			all.replies[i] = r
		})
	}
	close(start)
	return all
}

// await waits for all responses and returns them in the order of the calls.
func (all *requests) await(t testing.TB) []e2e.Reply {
	t.Helper()
	done := make(chan struct{})
	go func() {
		all.sending.Wait()
		close(done)
	}()
	e2e.Receive(t, done, "all requests are answered")
	return all.replies
}

// wantOneRun checks the responses to many requests with the same key: one of them ran,
// and the others have its response.
func wantOneRun(t testing.TB, c routes.Command, replies []e2e.Reply) {
	t.Helper()
	first := slices.IndexFunc(replies, func(r e2e.Reply) bool { return r.Header.Get("Idempotency-Result") == "created" })
	if first < 0 {
		t.Fatalf("no request ran: %d %s", replies[0].Status, replies[0].Body)
	}
	c.WantFirst(t, replies[first], c.Status)
	for i, r := range replies {
		if i != first {
			c.WantReplay(t, replies[first], r)
		}
	}
	c.WantEffects(t, 1)
}
