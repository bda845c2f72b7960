// Package roundtrips is a proxy for PostgreSQL that records every round trip: what the
// client sends before it waits for a response. Tests bound the number of round trips,
// and the benchmark reports it.
package roundtrips

import (
	"net"
	"strings"
	"sync"

	pgproxy "example.com/orders/internal/test/pg/proxy"
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
	*pgproxy.Proxy

	mu      sync.Mutex
	trips   []Trip
	barrier *barrier
}

// barrier lets a number of trips pass and delays later ones until it is released.
type barrier struct {
	passes   int
	released chan struct{}
}

// Start starts a proxy on loopback for the server of databaseURL.
func Start(databaseURL string) (_ *Proxy, err error) {
	p := &Proxy{}
	p.Proxy, err = pgproxy.Start(databaseURL, func(client, server net.Conn) { forward(client, server, p.record) })
	return p, err
}

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
