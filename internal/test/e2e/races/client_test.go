package races_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// truncation is a way in which a request ends before its body does.
type truncation struct {
	// rest is the last header and the body: a format of a length and the body.
	rest string
	// announced is how many bytes more than the body the length says.
	announced int
	hangUp    func(*net.TCPConn) error
	// answered says that the client still reads a response.
	answered bool
}

var truncations = map[string]truncation{
	"half closed": {"Content-Length: %d\r\n\r\n%s", 1, (*net.TCPConn).CloseWrite, true},
	"closed":      {"Content-Length: %d\r\n\r\n%s", 1, (*net.TCPConn).Close, false},
	"reset":       {"Content-Length: %d\r\n\r\n%s", 1, reset, false},
	"without its last chunk": {
		"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", 0, (*net.TCPConn).CloseWrite, true,
	},
}

// A part of a request is not the request, even when the part is valid JSON: the body
// must have arrived to its end before anything begins.
func TestGuard_DoesNothingForTruncatedBody(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	for _, route := range e2e.GuardedRoutes() {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			c := s.Prepare(t, route)
			for name, truncated := range truncations {
				t.Run(name, func(t *testing.T) {
					c := c.Another(t)
					p := &proxy{}
					c = c.On(behind(t, c.Service, p))
					key := c.NewKey()
					conn := dial(t, c.Service)
					request := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer %s\r\n"+
						"Content-Type: application/json\r\nIdempotency-Key: %s\r\n"+truncated.rest,
						c.Call.Method, c.Call.Path, c.Call.Token, key, len(c.Call.Body)+truncated.announced, c.Call.Body)
					if _, err := io.WriteString(conn, request); err != nil {
						t.Fatal(err)
					}
					e2e.Eventually(t, "the request arrives", func() bool { return p.arrived.Load() == 1 })
					if err := truncated.hangUp(conn); err != nil {
						t.Fatal(err)
					}
					if truncated.answered {
						wantMalformed(t, conn)
					}
					e2e.Eventually(t, "the request ends", func() bool { return p.finished.Load() == 1 })
					c.WantKeyFree(t, key)
				})
			}
		})
	}
}

// wantMalformed reads the response to a request that was truncated.
func wantMalformed(t testing.TB, conn net.Conn) {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	r, err := e2e.ReadReply(resp)
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict() != "400 malformed_request" {
		t.Errorf("got %d %s, want 400 malformed_request", r.Status, r.Body)
	}
}

// dial opens a connection for what no HTTP client would write.
func dial(t testing.TB, s *e2e.Service) *net.TCPConn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn.(*net.TCPConn)
}

// reset ends a connection with a TCP reset.
func reset(conn *net.TCPConn) error {
	if err := conn.SetLinger(0); err != nil {
		return err
	}
	return conn.Close()
}

// A command that has begun is finished, whether its client waits or not.
func TestGuard_FinishesCommandWhenClientHangsUp(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	s := env.StartReplica(t, manyConnections(t, env))
	for _, route := range e2e.GuardedRoutes() {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			c := s.Prepare(t, route)
			p := &proxy{}
			c = c.On(behind(t, c.Service, p))
			key := c.NewKey()
			row := c.LockRow(t)
			hangUp, failed := sendAndHangUp(t, c, key)
			row.AwaitWaiter(t)
			hangUp()
			wantNoResponse(t, failed)
			e2e.Eventually(t, "the service notices that the client hung up", func() bool { return p.hungUp.Load() == 1 })
			c.WantEffects(t, 0)

			row.Release()

			e2e.Eventually(t, "the command is finished", func() bool { return c.RecordsSince(t) == 1 })
			c.WantEffects(t, 1)
			wantReplayOfLostResponse(t, c, key)
		})
	}
}

// A response that got lost is there for the retry.
func TestGuard_StoresResponseThatGetsLost(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	for _, route := range e2e.GuardedRoutes() {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			c := s.Prepare(t, route)
			responding := make(chan struct{})
			released, release := e2e.NewSignal()
			p := &proxy{beforeResponse: sync.OnceFunc(func() {
				close(responding)
				<-released
			})}
			c = c.On(behind(t, c.Service, p))
			t.Cleanup(release)
			key := c.NewKey()
			hangUp, failed := sendAndHangUp(t, c, key)
			e2e.Receive(t, responding, "the response is about to be sent")
			c.WantEffects(t, 1)

			hangUp()
			wantNoResponse(t, failed)
			e2e.Eventually(t, "the service notices that the client hung up", func() bool { return p.hungUp.Load() == 1 })
			release()

			wantReplayOfLostResponse(t, c, key)
		})
	}
}

// wantReplayOfLostResponse retries a command whose first response nobody got.
func wantReplayOfLostResponse(t testing.TB, c e2e.Command, key string) {
	t.Helper()
	retry := c.Send(t, c.WithKey(key))
	if retry.Status != c.Status {
		t.Errorf("the retry got %d %s, want %d", retry.Status, retry.Body, c.Status)
	}
	c.WantResult(t, retry, "reused", "true")
	c.WantEffects(t, 1)
}

// The database rolls back what a connection began that broke.
func TestGuard_LeavesKeyFreeWhenConnectionBreaks(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	s := env.StartReplica(t, manyConnections(t, env))
	for _, route := range e2e.GuardedRoutes() {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			c := s.Prepare(t, route)
			key := c.NewKey()
			row := c.LockRow(t)
			sent := sendAll(t, []e2e.Call{c.WithKey(key)}, c.Service)
			row.AwaitWaiter(t)
			row.KillWaiters(t)
			r := sent.await(t)[0]
			if r.Verdict() != "503 unavailable" {
				t.Errorf("got %d %s, want 503 unavailable", r.Status, r.Body)
			}
			c.WantNotGuarded(t, r)
			row.Release()
			c.WantKeyFree(t, key)
		})
	}
}
