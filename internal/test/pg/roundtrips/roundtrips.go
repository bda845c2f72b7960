// Package roundtrips is a PostgreSQL proxy that records round trips: the statements
// that a client sends before it waits for a response. Tests bound their number, and the
// benchmark reports it.
package roundtrips

import (
	"slices"
	"strings"
	"sync"
	"testing"

	pgproxy "example.com/orders/internal/test/pg/proxy"
)

// Trip is one round trip: the statements that were sent together.
//
// Each message that requests a response counts as one trip, so that the count of a
// client that pipelines several of them is never too low.
type Trip []string

// Proxy forwards connections to a server and records their round trips.
//
// It omits housekeeping, which belongs to no particular command: drawing a block of ids
// for the next hundred rows, and checking whether an idle connection is alive.
type Proxy struct {
	*pgproxy.Proxy

	mu      sync.Mutex
	sending map[int]Trip // statements since the last trip, by connection
	trips   []Trip
	barrier *barrier
}

// barrier lets some trips pass and delays later ones until it is released.
type barrier struct {
	passes   int
	released chan struct{}
}

// Start starts a proxy until the test ends; see [pgproxy.Start].
func Start(t testing.TB, databaseURL string) *Proxy {
	t.Helper()
	p := &Proxy{Proxy: pgproxy.Start(t, databaseURL), sending: map[int]Trip{}}
	p.SetHook(p.pass)
	return p
}

// Take returns the round trips since the last Take.
func (p *Proxy) Take() []Trip {
	p.mu.Lock()
	defer p.mu.Unlock()
	trips := p.trips
	p.trips = nil
	return trips
}

// HoldAfter lets n round trips pass and delays later ones until release is called. A
// client that completes something before that has completed it within n round trips.
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

// pass is the hook of the proxy.
func (p *Proxy) pass(m pgproxy.Message) pgproxy.Verdict {
	if m.From == pgproxy.Client && m.Statement != "" {
		p.await(m)
		p.record(m)
	}
	return pgproxy.Forward
}

// await waits until a message may pass.
func (p *Proxy) await(m pgproxy.Message) {
	p.mu.Lock()
	b := p.barrier
	held := b != nil && b.passes == 0 && !housekeeping(m.Statement)
	p.mu.Unlock()
	if held {
		<-b.released
	}
}

func (p *Proxy) record(m pgproxy.Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch m.Kind {
	case "Parse":
		p.sending[m.Conn] = append(p.sending[m.Conn], "parse "+m.Statement)
	case "Bind", "Query":
		p.sending[m.Conn] = append(p.sending[m.Conn], m.Statement)
	}
	if !m.Asks() {
		return
	}
	trip := p.sending[m.Conn]
	delete(p.sending, m.Conn)
	if len(trip) > 0 && !slices.ContainsFunc(trip, func(s string) bool { return !housekeeping(s) }) {
		return
	}
	p.trips = append(p.trips, trip)
	if p.barrier != nil {
		p.barrier.passes = max(0, p.barrier.passes-1)
	}
}

// housekeeping reports whether a statement belongs to no particular command.
func housekeeping(statement string) bool {
	return statement == "-- ping" || strings.Contains(statement, "nextval(")
}
