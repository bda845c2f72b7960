package postgres_test

import (
	"fmt"
	"strings"
	"testing"

	"example.com/orders/internal/test/pg/roundtrips"
)

// largestGroup is how many commands a group has at most.
const largestGroup = 64

// A group has as many round trips as one command, whatever its commands are.
func TestGroup_HasTheRoundTripsOfOneCommand(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	proxy, url := d.counting(t)
	g, plain := grouped(t, url, 1), grouped(t, d.url, 1)
	plain.stock(t, "tea", 1000)
	for _, run := range []string{"prepares the statements", "counted"} {
		members := make([]command, largestGroup)
		for i := range members {
			customer := fmt.Sprint(run, i)
			plain.alone(t, credit(customer, "10.00"))
			orderID := plain.alone(t, buy(customer, "tea", 1))
			members[i] = []command{credit(customer, "1.00"), charge(customer, "1.00"), buy(customer, "tea", 1), pay(customer, orderID)}[i%4]
		}
		proxy.Take()
		for i, a := range g.together(t, members...) {
			if a.outcome() != done {
				t.Errorf("command %d: %s, %v", i, a.outcome(), a.err)
			}
		}
		if trips := proxy.Take(); run == "counted" && len(trips) != 3 {
			t.Errorf("%d round trips, want 3: %q", len(trips), trips)
		}
	}
	if sizes, splits := g.groups(); fmt.Sprint(sizes, splits) != "[64 64] 0" {
		t.Errorf("groups of %v, %d splits; want two of 64", sizes, splits)
	}
}

// counting starts a proxy that counts round trips, and returns the URL of the database
// behind it, for one connection. The store is closed before the proxy, which waits for its
// connections.
func (d *database) counting(t *testing.T) (*roundtrips.Proxy, string) {
	t.Helper()
	proxy, err := roundtrips.Start(d.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	return proxy, proxy.URL() + "&pool_max_conns=1"
}

// In a storm of retries, a group of replays is one lookup outside a transaction. A new
// command among them still runs, and one whose record has expired.
func TestGroup_ReplaysOfAStormAreOneLookup(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	proxy, url := d.counting(t)
	g, elsewhere := grouped(t, url, 1), grouped(t, d.url, 1)
	for range 2 { // the first starts the storm, the second prepares its statements
		g.together(t, elsewhere.stored(t, 16)...)
	}
	storm := elsewhere.stored(t, 16)
	g.awaitRollback(t)
	proxy.Take()

	answers := g.together(t, storm...)

	trips := proxy.Take()
	for i, a := range answers {
		if a.outcome() != "replayed: done" {
			t.Errorf("command %d: %s, %v", i, a.outcome(), a.err)
		}
	}
	if len(trips) != 1 || strings.Contains(fmt.Sprint(trips), "begin") {
		t.Errorf("%d round trips: %q; want one lookup", len(trips), trips)
	}
	expired := credit("eve", "1.00")
	d.storeExpired(t, expired.claim.ID)
	expect(t, g.together(t, elsewhere.stored(t, 1)[0], credit("bob", "1.00"), expired), "replayed: done", done, done)
}

// The first replays of a storm are answered after one round trip: their ROLLBACK comes
// later.
func TestGroup_ReplaysAreAnsweredBeforeTheirRollback(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	proxy, url := d.counting(t)
	g, elsewhere := grouped(t, url, 1), grouped(t, d.url, 1)
	g.together(t, elsewhere.stored(t, 4)...) // prepares the statements
	replays := elsewhere.stored(t, 4)
	g.awaitRollback(t)
	release := proxy.HoldAfter(1)
	t.Cleanup(release)

	answers := g.together(t, replays...)

	for i, a := range answers {
		if a.outcome() != "replayed: done" {
			t.Errorf("command %d: %s, %v", i, a.outcome(), a.err)
		}
	}
}

// stored runs n commands and returns them.
func (g *grouping) stored(t *testing.T, n int) []command {
	t.Helper()
	commands := make([]command, n)
	for i := range commands {
		commands[i] = credit("ann", "1.00")
		g.alone(t, commands[i])
	}
	return commands
}

// awaitRollback waits until the store's only connection is back in its pool.
func (g *grouping) awaitRollback(t *testing.T) {
	t.Helper()
	conn, err := g.Pool().Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	conn.Release()
}
