package postgres_test

import (
	"fmt"
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

// A group of replays is answered after one round trip: its ROLLBACK comes later.
func TestGroup_ReplaysOfAStormAreReadAtOnce(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	proxy, url := d.counting(t)
	g := grouped(t, url, 1)
	elsewhere := grouped(t, d.url, 1)
	unseen := func() []command {
		members := make([]command, 16)
		for i := range members {
			members[i] = credit("ann", "1.00")
			elsewhere.alone(t, members[i])
		}
		return members
	}
	g.together(t, unseen()...) // prepares the statements
	storm := unseen()
	conn, err := g.Pool().Acquire(t.Context()) // the only one, after the ROLLBACK
	if err != nil {
		t.Fatal(err)
	}
	conn.Release()
	release := proxy.HoldAfter(1)
	t.Cleanup(release)

	answers := g.together(t, storm...)

	for i, a := range answers {
		if a.outcome() != "replayed: done" {
			t.Errorf("command %d: %s, %v", i, a.outcome(), a.err)
		}
	}
	release()
	expect(t, g.together(t, append(unseen()[:1], credit("bob", "1.00"))...), "replayed: done", done)
}
