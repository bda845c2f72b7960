// Package roundtrips is a proxy for PostgreSQL that records every round trip: what the
// client sends before it waits for a response. Tests bound the number of round trips,
// and the benchmark reports it.
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

// Trip is one round trip: the statements that were sent together.
//
// Each message that requests a response counts as one trip, so that the count of a
// client that pipelines several of them is never too low.
type Trip []string

// Housekeeping reports whether a trip belongs to no particular command: it draws a
// block of ids for the next hundred rows, or pgx checks whether an idle connection is
// alive.
func (t Trip) Housekeeping() bool {
	for _, statement := range t {
		if statement != "-- ping" && !strings.Contains(statement, "nextval(") {
			return false
		}
	}
	return len(t) > 0
}

// Proxy forwards connections to a server and records their round trips.
type Proxy struct {
	listener         net.Listener
	url              string
	network, address string // of the server

	mu      sync.Mutex
	trips   []Trip
	barrier *barrier
	open    map[net.Conn]bool // nil when the proxy is closed
	work    sync.WaitGroup
}

// barrier lets a number of trips pass and delays later ones until it is released.
type barrier struct {
	passes   int
	released chan struct{}
}

// Start starts a proxy on loopback for the server of databaseURL.
func Start(databaseURL string) (*Proxy, error) {
	cfg, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		return nil, errors.New("the database URL cannot be read") // err may contain the password
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // Listen does not wait
	if err != nil {
		return nil, fmt.Errorf("start the proxy: %w", err)
	}
	p := &Proxy{listener: listener, open: map[net.Conn]bool{}}
	p.network, p.address = pgconn.NetworkAddress(cfg.Host, cfg.Port)
	if p.url, err = redirect(databaseURL, listener.Addr().String()); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	p.work.Go(p.accept)
	return p, nil
}

// redirect returns databaseURL with another address.
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

// URL returns the URL that leads to the database through the proxy.
func (p *Proxy) URL() string { return p.url }

// Take returns the round trips since the last Take, without housekeeping.
func (p *Proxy) Take() []Trip {
	p.mu.Lock()
	defer p.mu.Unlock()
	trips := p.trips
	p.trips = nil
	return trips
}

// HoldAfter lets n round trips pass and delays later ones until release is called.
// Whatever a client completes before that, it has completed within n round trips.
func (p *Proxy) HoldAfter(n int) (release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := &barrier{passes: n, released: make(chan struct{})}
	p.barrier = b
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.barrier = nil
		close(b.released)
	})
}

// record adds a trip. It returns when the trip may pass.
func (p *Proxy) record(t Trip) {
	if t.Housekeeping() {
		return
	}
	p.mu.Lock()
	p.trips = append(p.trips, t)
	b := p.barrier
	if b != nil && b.passes > 0 {
		b.passes--
		b = nil
	}
	p.mu.Unlock()
	if b != nil {
		<-b.released
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
		_ = conn.Close() // ends both directions
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
	defer client.Close()                          //nolint:errcheck // the client sees the error
	server, err := net.Dial(p.network, p.address) //nolint:noctx // the server is on this machine
	if err != nil {
		return
	}
	defer server.Close() //nolint:errcheck // as above
	if !p.keep(client) || !p.keep(server) {
		return
	}
	forward(client, server, p.record)
	p.forget(client, server)
}

// keep adds a connection to those that Close closes. It returns false after Close.
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
