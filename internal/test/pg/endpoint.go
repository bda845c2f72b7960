package pgtest

import (
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// Endpoint is an address that leads to a server, and to the next one after a failover,
// as a load balancer's does.
type Endpoint struct {
	listener net.Listener
	work     sync.WaitGroup

	mu       sync.Mutex
	target   target
	frozen   bool
	freezes  int // until now
	accepted int
	open     map[net.Conn]bool
}

// target is the current server of an endpoint. Without a network, the endpoint accepts
// connections and never answers, or it answers that the server is starting.
type target struct {
	network, address string
	refuses          bool
}

// NewEndpoint starts an endpoint that refuses connections.
func NewEndpoint(t testing.TB) *Endpoint {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // Listen does not wait
	if err != nil {
		t.Fatal(err)
	}
	e := &Endpoint{listener: listener, open: map[net.Conn]bool{}, target: target{refuses: true}}
	e.work.Go(e.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		e.Refuse()
		e.work.Wait()
	})
	return e
}

// LeadTo ends all connections and directs new ones to a server.
func (e *Endpoint) LeadTo(t testing.TB, serverURL string) {
	t.Helper()
	server, err := pgx.ParseConfig(serverURL)
	if err != nil {
		t.Fatal(err)
	}
	network, address := pgconn.NetworkAddress(server.Host, server.Port)
	e.change(target{network: network, address: address})
}

// Refuse ends all connections, and refuses new ones as a starting server does.
func (e *Endpoint) Refuse() { e.change(target{refuses: true}) }

// Silence ends all connections and does not answer new ones.
func (e *Endpoint) Silence() { e.change(target{}) }

// Freeze drops all traffic from now on, in both directions, as a partition does. It
// ends no connection.
func (e *Endpoint) Freeze() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.frozen = true
	e.freezes++
}

// Thaw serves new connections again. Those opened before stay frozen, as when a different
// server has the address.
func (e *Endpoint) Thaw() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.frozen = false
}

// Accepted counts the accepted connections.
func (e *Endpoint) Accepted() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.accepted
}

// Open counts the open client connections.
func (e *Endpoint) Open() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.open)
}

// Through returns a database URL with endpoints instead of its servers.
func Through(t testing.TB, databaseURL string, endpoints ...*Endpoint) string {
	t.Helper()
	u, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	hosts := make([]string, len(endpoints))
	for i, e := range endpoints {
		hosts[i] = e.listener.Addr().String()
	}
	query := u.Query()
	query.Del("host")
	query.Del("port")
	query.Del("target_session_attrs")
	query.Set("sslmode", "disable")
	u.Host, u.RawQuery = strings.Join(hosts, ","), query.Encode()
	return u.String()
}

func (e *Endpoint) change(to target) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.target = to
	for conn := range e.open {
		_ = conn.Close() // ends both directions
	}
}

func (e *Endpoint) accept() {
	for {
		client, err := e.listener.Accept()
		if err != nil {
			return // closed
		}
		e.mu.Lock()
		e.accepted++
		e.open[client] = true
		to, freezes := e.target, e.freezes
		if e.frozen {
			to = target{}
		}
		e.mu.Unlock()
		e.work.Go(func() {
			e.serve(to, freezes, client)
			_ = client.Close() // perhaps closed before
			e.mu.Lock()
			delete(e.open, client)
			e.mu.Unlock()
		})
	}
}

func (e *Endpoint) serve(to target, freezes int, client net.Conn) {
	switch {
	case to.refuses:
		backend := pgproto3.NewBackend(client, client)
		if _, err := backend.ReceiveStartupMessage(); err == nil {
			backend.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "57P03", Message: "the database system is starting up"})
			_ = backend.Flush() // the client may be gone
		}
		return
	case to.network == "":
		_, _ = io.Copy(io.Discard, client)
		return
	}
	server, err := net.Dial(to.network, to.address) //nolint:noctx // the server is on this machine
	if err != nil {
		return
	}
	defer server.Close() //nolint:errcheck // no data is lost
	go func() {
		_, _ = io.Copy(freezable{e, freezes, client}, server)
		_ = client.Close()
	}()
	_, _ = io.Copy(freezable{e, freezes, server}, client)
}

// freezable drops writes once the endpoint has been frozen again.
type freezable struct {
	endpoint *Endpoint
	freezes  int
	to       io.Writer
}

// Write implements [io.Writer].
func (f freezable) Write(p []byte) (int, error) {
	f.endpoint.mu.Lock()
	frozen := f.freezes != f.endpoint.freezes
	f.endpoint.mu.Unlock()
	if frozen {
		return len(p), nil
	}
	return f.to.Write(p)
}
