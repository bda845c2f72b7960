// Package wirecount stands between a client and PostgreSQL and notes every round trip:
// what the client sends before it has to wait for an answer. Tests bound the number with
// it, and the benchmark reports it.
package roundtrips

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Trip is one round trip: the statements that left together.
//
// Each message that asks for an answer counts as one, so a client that pipelines several
// of them is never counted too low.
type Trip []string

// Housekeeping tells that a trip belongs to no command in particular. Ids are drawn in
// blocks, for the next hundred rows; and pgx asks a connection that has been idle for a
// second whether it is alive.
func (t Trip) Housekeeping() bool {
	for _, statement := range t {
		if statement != "-- ping" && !strings.Contains(statement, "nextval(") {
			return false
		}
	}
	return len(t) > 0
}

// Proxy passes connections on to a server.
type Proxy struct {
	listener         net.Listener
	url              string
	network, address string // of the server

	mu    sync.Mutex
	trips []Trip
	gate  *gate
	open  map[net.Conn]bool // nil once the proxy is closed
	work  sync.WaitGroup
}

// gate lets a number of trips through and holds what comes after them.
type gate struct {
	left int
	free chan struct{}
}

// Start listens on a port of loopback for the server of databaseURL.
func Start(databaseURL string) (*Proxy, error) {
	cfg, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		return nil, errors.New("the database URL cannot be read") // err may show the password
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // listening waits for nobody
	if err != nil {
		return nil, fmt.Errorf("count round trips: %w", err)
	}
	p := &Proxy{listener: listener, open: map[net.Conn]bool{}}
	p.network, p.address = pgconn.NetworkAddress(cfg.Host, cfg.Port)
	if p.url, err = redirect(databaseURL, listener.Addr().String()); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	p.work.Go(p.accept)
	return p, nil
}

// redirect makes a URL name another address for the same database.
func redirect(databaseURL, address string) (string, error) {
	u, err := url.Parse(databaseURL)
	if err != nil {
		return "", errors.New("the database URL cannot be read")
	}
	query := u.Query()
	query.Del("host")
	query.Del("port")
	query.Set("sslmode", "disable")
	u.Host, u.RawQuery = address, query.Encode()
	return u.String(), nil
}

// URL names the database by way of the proxy.
func (p *Proxy) URL() string { return p.url }

// Take gives the round trips since the last Take. Housekeeping is not among them.
func (p *Proxy) Take() []Trip {
	p.mu.Lock()
	defer p.mu.Unlock()
	trips := p.trips
	p.trips = nil
	return trips
}

// HoldAfter lets n round trips through and holds the next ones back until release is
// called: what is answered meanwhile was answered within n round trips.
func (p *Proxy) HoldAfter(n int) (release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := &gate{left: n, free: make(chan struct{})}
	p.gate = g
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.gate = nil
		close(g.free)
	})
}

// note adds a trip, and waits at the gate if it is closed.
func (p *Proxy) note(t Trip) {
	if t.Housekeeping() {
		return
	}
	p.mu.Lock()
	p.trips = append(p.trips, t)
	g := p.gate
	if g != nil && g.left > 0 {
		g.left--
		g = nil
	}
	p.mu.Unlock()
	if g != nil {
		<-g.free
	}
}

// Close ends all connections.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	p.mu.Lock()
	open := p.open
	p.open = nil
	p.mu.Unlock()
	for conn := range open {
		_ = conn.Close() // both ends are told by that
	}
	p.work.Wait()
	return err
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		p.work.Go(func() { p.connect(client) })
	}
}

func (p *Proxy) connect(client net.Conn) {
	defer client.Close()                          //nolint:errcheck // its errors are the client's
	server, err := net.Dial(p.network, p.address) //nolint:noctx // the server is on this machine
	if err != nil {
		return
	}
	defer server.Close() //nolint:errcheck // as above
	if !p.keep(client) || !p.keep(server) {
		return
	}
	relay(client, server, p.note)
	p.forget(client, server)
}

// keep notes a connection for Close. It reports false after Close.
func (p *Proxy) keep(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open == nil {
		return false
	}
	p.open[conn] = true
	return true
}

func (p *Proxy) forget(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range conns {
		delete(p.open, conn)
	}
}
