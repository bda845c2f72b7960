package e2e_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// door stands before a replica and tells who comes and goes.
type door struct {
	inside http.Handler
	// arrived and left count requests, and hungUp those whose client went before the answer.
	arrived, left, hungUp atomic.Int64
	// answering is called when a command is done and its answer is about to leave.
	answering func()
}

// behind puts a replica behind a door.
func (s *service) behind(d *door) *service {
	d.inside = s.app.Handler()
	server := httptest.NewServer(d)
	s.Cleanup(server.Close)
	return &service{world: s.world, url: server.URL, app: s.app}
}

func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.arrived.Add(1)
	defer d.left.Add(1)
	stop := context.AfterFunc(r.Context(), func() { d.hungUp.Add(1) })
	defer stop()
	d.inside.ServeHTTP(&answer{w, d}, r)
}

// answer is a response that passes a door.
type answer struct {
	http.ResponseWriter
	door *door
}

func (a *answer) WriteHeader(status int) {
	if a.door.answering != nil {
		a.door.answering()
	}
	a.ResponseWriter.WriteHeader(status)
}

// The body must have arrived to its end before anything begins: the part of a request is
// not the request, even when it is JSON.
func TestGuardDoesNothingForABodyCutShort(t *testing.T) {
	t.Parallel()
	const announced = "Content-Length: %d\r\n\r\n%s" // the body and one byte that never comes
	eachGuardedRoute(t, newService(t), func(c scene) {
		for name, cut := range map[string]struct {
			format  string
			hangUp  func(*net.TCPConn) error
			listens bool // the client still hears an answer
		}{
			"half closed":            {announced, (*net.TCPConn).CloseWrite, true},
			"closed":                 {announced, (*net.TCPConn).Close, false},
			"reset":                  {announced, reset, false},
			"without its last chunk": {"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", (*net.TCPConn).CloseWrite, true},
		} {
			c.anew(name, func(c scene) {
				d := &door{}
				c = c.at(c.behind(d))
				key, size := c.newKey(), len(c.call.body)
				if cut.format == announced {
					size++
				}
				conn := c.dial()
				part := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer %s\r\n"+
					"Content-Type: application/json\r\nIdempotency-Key: %s\r\n"+cut.format,
					c.call.method, c.call.path, c.call.token, key, size, c.call.body)
				if _, err := io.WriteString(conn, part); err != nil {
					c.Fatal(err)
				}
				eventually(c, "the request arrives", func() bool { return d.arrived.Load() == 1 })
				if err := cut.hangUp(conn); err != nil {
					c.Fatal(err)
				}
				if cut.listens {
					c.wantMalformed(conn)
				}
				eventually(c, "the request ends", func() bool { return d.left.Load() == 1 })
				c.wantFree(key)
			})
		}
	})
}

// wantMalformed reads the answer to a request that was cut short.
func (s *service) wantMalformed(conn net.Conn) {
	s.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.Fatal(err)
	}
	if r := (reply{resp.StatusCode, resp.Header, body}); r.status != http.StatusBadRequest || r.code() != "malformed_request" {
		s.Errorf("got %d %s, want 400 malformed_request", r.status, r.body)
	}
}

// dial opens a connection on which a test writes what no HTTP client would.
func (s *service) dial() *net.TCPConn {
	s.Helper()
	conn, err := new(net.Dialer).DialContext(s.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = conn.Close() })
	return conn.(*net.TCPConn)
}

// reset ends a connection without a word.
func reset(conn *net.TCPConn) error {
	if err := conn.SetLinger(0); err != nil {
		return err
	}
	return conn.Close()
}

// A command that has begun is finished, whether its client waits or not.
func TestGuardFinishesTheCommandOfAClientThatHungUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	eachGuardedRoute(t, w.replica(w.database("pool_max_conns", "20")), func(c scene) {
		d := &door{}
		c = c.at(c.behind(d))
		key := c.newKey()
		row := c.hold(c.locks)
		hangUp, failed := c.sendAndGo(key)
		row.awaitWaiter()
		hangUp()
		if err := receive(c, failed, "the client gives up"); err == nil {
			c.Error("the client had an answer")
		}
		eventually(c, "the service hears the client hang up", func() bool { return d.hungUp.Load() == 1 })
		c.wantEffects(0)
		row.release()
		eventually(c, "the command is finished", func() bool { return c.records() == 1 })
		c.wantEffects(1)
		again := c.send(c.with(key))
		if again.status != c.status {
			c.Errorf("the retry got %d %s, want %d", again.status, again.body, c.status)
		}
		c.wantOutcome(again, "reused", "true")
		c.wantEffects(1)
	})
}

// An answer that nobody heard is there for the retry.
func TestGuardKeepsTheAnswerThatWasLostOnItsWay(t *testing.T) {
	t.Parallel()
	eachGuardedRoute(t, newService(t), func(c scene) {
		answering := make(chan struct{})
		lost, lose := latch()
		d := &door{answering: sync.OnceFunc(func() {
			close(answering)
			<-lost
		})}
		c = c.at(c.behind(d))
		c.Cleanup(lose)
		key := c.newKey()
		hangUp, failed := c.sendAndGo(key)
		receive(c, answering, "an answer is there")
		c.wantEffects(1)
		hangUp()
		if err := receive(c, failed, "the client gives up"); err == nil {
			c.Error("the client had an answer")
		}
		eventually(c, "the service hears the client hang up", func() bool { return d.hungUp.Load() == 1 })
		lose()
		again := c.send(c.with(key))
		if again.status != c.status {
			c.Errorf("the retry got %d %s, want %d", again.status, again.body, c.status)
		}
		c.wantOutcome(again, "reused", "true")
		c.wantEffects(1)
	})
}

// sendAndGo sends the call for a client that can hang up, and tells how that ended.
func (c scene) sendAndGo(key string) (hangUp func(), failed <-chan error) {
	ctx, hangUp := context.WithCancel(c.Context())
	result := make(chan error, 1)
	var sending sync.WaitGroup
	sending.Go(func() {
		_, err := c.try(ctx, c.with(key))
		result <- err
	})
	c.Cleanup(sending.Wait) // the test's context is over then
	return hangUp, result
}
