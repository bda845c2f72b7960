package guard_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// patientDuplicates makes duplicates wait as long as it takes: how a race ends must not
// depend on the speed of the machine.
const patientDuplicates = "ORDERS_IDEMPOTENCY_WAIT=30s"

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
func wantOneRun(t testing.TB, c e2e.Command, replies []e2e.Reply) {
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
