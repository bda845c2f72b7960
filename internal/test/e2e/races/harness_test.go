package races_test

import (
	"context"
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

// manyConnections is the setting of a replica with enough connections for the slow
// commands of all routes at the same time.
func manyConnections(t testing.TB, env *e2e.Env) string {
	t.Helper()
	return env.DatabaseSetting(t, "pool_max_conns", "20")
}

// proxy stands in front of a replica and counts requests.
type proxy struct {
	replica http.Handler
	// arrived and finished count requests, hungUp those whose client closed the
	// connection before the response.
	arrived, finished, hungUp atomic.Int64
	// beforeResponse is called when a command has committed and its response is about
	// to be sent.
	beforeResponse func()
}

// behind returns the replica as it is reached through a proxy.
func behind(t testing.TB, s *e2e.Service, p *proxy) *e2e.Service {
	t.Helper()
	p.replica = s.App.Handler()
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	return &e2e.Service{Env: s.Env, URL: server.URL, App: s.App}
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.arrived.Add(1)
	defer p.finished.Add(1)
	stop := context.AfterFunc(r.Context(), func() { p.hungUp.Add(1) })
	defer stop()
	p.replica.ServeHTTP(&proxiedResponse{w, p}, r)
}

type proxiedResponse struct {
	http.ResponseWriter
	proxy *proxy
}

func (r *proxiedResponse) WriteHeader(status int) {
	if r.proxy.beforeResponse != nil {
		r.proxy.beforeResponse()
	}
	r.ResponseWriter.WriteHeader(status)
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

// sendAndHangUp sends the command for a client that can hang up, and returns where the
// client's error is reported.
func sendAndHangUp(t testing.TB, c e2e.Command, key string) (hangUp func(), failed <-chan error) {
	t.Helper()
	ctx, hangUp := context.WithCancel(t.Context())
	result := make(chan error, 1)
	var sending sync.WaitGroup
	sending.Go(func() {
		_, err := c.Try(ctx, t, c.WithKey(key))
		result <- err
	})
	t.Cleanup(sending.Wait) // the test's context is over then
	return hangUp, result
}

// wantNoResponse waits until a client has given up, without a response.
func wantNoResponse(t testing.TB, failed <-chan error) {
	t.Helper()
	if err := e2e.Receive(t, failed, "the client gives up"); err == nil {
		t.Error("the client got a response")
	}
}

// wantOneRun checks the responses to many requests with the same key: one of them ran,
// and the others have its response. It returns that response.
func wantOneRun(t testing.TB, c e2e.Command, replies []e2e.Reply) e2e.Reply {
	t.Helper()
	first := slices.IndexFunc(replies, func(r e2e.Reply) bool { return r.Header.Get("Idempotency-Result") == "created" })
	if first < 0 {
		t.Fatalf("no request ran: %d %s", replies[0].Status, replies[0].Body)
	}
	for i, r := range replies {
		if i != first {
			c.WantReplay(t, replies[first], r)
		}
	}
	return replies[first]
}
