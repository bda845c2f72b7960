package limits_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/orders/internal/test/e2e"
)

// connection is a connection that a test keeps open.
type connection struct {
	net.Conn
	reader *bufio.Reader
}

func connect(t *testing.T, url string) connection {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return connection{conn, bufio.NewReader(conn)}
}

// ask sends a request and does not wait for the response.
func (c connection) ask(t *testing.T) {
	t.Helper()
	if _, err := io.WriteString(c, "GET /health/live HTTP/1.1\r\nHost: orders\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
}

func (c connection) wantAnswer(t *testing.T) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(e2e.Patience))
	resp, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%d %v", resp.StatusCode, err)
	}
}

func TestConnections_BeyondTheLimitWait(t *testing.T) {
	t.Parallel()
	env, addr, admin := e2e.NewEnv(t), e2e.FreeAddr(t), e2e.FreeAddr(t)
	env.StartReplica(t, "ORDERS_MAX_CONNECTIONS=2", "ORDERS_REQUESTS_PER_MINUTE=1", "ORDERS_ADDR="+addr, "ORDERS_ADMIN_ADDR="+admin).Run(t)
	s := &e2e.Service{Env: env, URL: "http://" + addr}
	s.MustSend(t, e2e.Get(s.CustomerToken(t), "/orders"))
	wantLimited(t, s, e2e.Get(s.CustomerToken(t), "/orders"))
	http.DefaultClient.CloseIdleConnections()
	first, second, third := connect(t, s.URL), connect(t, s.URL), connect(t, s.URL)
	for _, c := range []connection{first, second} {
		c.ask(t)
		c.wantAnswer(t)
	}
	third.ask(t)

	operator := e2e.Service{Env: env, URL: "http://" + admin}
	for range 20 { // time enough for the third, if it were served
		operator.MustSend(t, e2e.Get("", "/health/ready"))
		second.ask(t)
		second.wantAnswer(t)
	}
	_ = third.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if _, err := third.reader.Peek(1); err == nil {
		t.Error("a connection beyond the limit is served")
	}
	if n := e2e.LimitedRequests.Read(t, admin); n != 1 {
		t.Errorf("%d requests are counted as limited, want 1", n)
	}

	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	third.wantAnswer(t)
}
