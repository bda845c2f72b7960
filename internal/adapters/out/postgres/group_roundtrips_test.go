package postgres_test

import (
	"fmt"
	"strings"
	"testing"

	"example.com/orders/internal/test/pg/roundtrips"
)

// largestGroup is how many commands a group has at most.
const largestGroup = 64

// A group has as many round trips as one command, whatever its commands are. A group that
// stores nothing has one to claim, and its rollback.
func TestGroup_HasTheRoundTripsOfOneCommand(t *testing.T) {
	t.Parallel()
	kinds := map[string]func(run string, i int, orderID int64) command{
		"credits":  func(run string, i int, _ int64) command { return credit(customerOf(run, i), "1.00") },
		"orders":   func(run string, i int, _ int64) command { return buy(customerOf(run, i), "tea", 1) },
		"payments": func(run string, i int, orderID int64) command { return pay(customerOf(run, i), orderID) },
		"a mix": func(run string, i int, orderID int64) command {
			customer := customerOf(run, i)
			return []command{credit(customer, "1.00"), charge(customer, "1.00"), buy(customer, "tea", 1), pay(customer, orderID)}[i%4]
		},
	}
	for name, make := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			proxy, url := d.counting(t)
			g := grouped(t, url, 1)
			plain := grouped(t, d.url, 1)
			plain.stock(t, "tea", 1000)
			for _, run := range []string{"prepares the statements", "counted"} {
				members := plain.prepare(t, run, make)
				proxy.Take()
				answers := g.together(t, members...)
				expectTrips(t, proxy, run, 3)
				for i, a := range answers {
					if a.outcome() != done {
						t.Errorf("command %d: %s, %v", i, a.outcome(), a.err)
					}
				}
			}
			if sizes, splits := g.groups(); fmt.Sprint(sizes, splits) != "[64 64] 0" {
				t.Errorf("groups of %v, %d splits; want two of 64", sizes, splits)
			}
		})
	}
}

func customerOf(run string, i int) string {
	return fmt.Sprintf("%s-%d", strings.ReplaceAll(run, " ", "-"), i)
}

// prepare returns the commands of a group. Each customer has a balance and an order.
func (g *grouping) prepare(t *testing.T, run string, kind func(string, int, int64) command) []command {
	t.Helper()
	members := make([]command, largestGroup)
	for i := range members {
		g.alone(t, credit(customerOf(run, i), "10.00"))
		orderID := g.alone(t, buy(customerOf(run, i), "tea", 1))
		members[i] = kind(run, i, orderID)
	}
	return members
}

// expectTrips returns the round trips since the last call. It checks how many they are in
// the run that is counted: others prepare statements.
func expectTrips(t *testing.T, proxy *roundtrips.Proxy, run string, want int) []roundtrips.Trip {
	t.Helper()
	trips := proxy.Take()
	if run == "counted" && len(trips) != want {
		t.Errorf("%d round trips, want %d:", len(trips), want)
		for _, trip := range trips {
			t.Log(strings.Join(trip, "; "))
		}
	}
	return trips
}

func TestGroup_OfReplaysDoesNotCommit(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	proxy, url := d.counting(t)
	g := grouped(t, url, 1)
	elsewhere := grouped(t, d.url, 1)
	for _, run := range []string{"prepares the statements", "counted"} {
		members := make([]command, 8)
		for i := range members {
			members[i] = credit("ann", "1.00")
			elsewhere.alone(t, members[i])
		}
		proxy.Take()
		for i, a := range g.together(t, members...) {
			if a.outcome() != "replayed: done" {
				t.Errorf("command %d: %s, %v", i, a.outcome(), a.err)
			}
		}
		if _, err := g.State(t.Context()); err != nil { // waits for the rollback: there is one connection
			t.Fatal(err)
		}
		trips := expectTrips(t, proxy, run, 3) // the claim, the rollback, and the state
		if strings.Contains(fmt.Sprint(trips), "commit") {
			t.Errorf("the group committed: %v", trips)
		}
	}
}

// When most keys are stored, a group of replays needs one statement and no transaction.
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
	for range 3 { // so that a storm is noticed, and the statement prepared
		g.together(t, unseen()...)
	}
	storm := unseen()
	proxy.Take()

	answers := g.together(t, storm...)

	for i, a := range answers {
		if a.outcome() != "replayed: done" {
			t.Errorf("command %d: %s, %v", i, a.outcome(), a.err)
		}
	}
	expectTrips(t, proxy, "a storm", 1)
	expect(t, g.together(t, append(unseen()[:1], credit("bob", "1.00"))...), "replayed: done", done)
}

// Ids that a group needs and the process has not are drawn in the round trip that loads.
func TestGroup_DrawsIDsWhereItLoads(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	proxy, url := d.counting(t)
	g := grouped(t, url, 1)
	elsewhere := grouped(t, d.url, 1)
	elsewhere.stock(t, "tea", 1000)
	ids := map[string]bool{}
	for _, run := range []string{"prepares the statements", "draws 100 more", "needs no more", "counted"} {
		members := make([]command, largestGroup)
		for i := range members {
			members[i] = buy(customerOf(run, i), "tea", 1)
		}
		proxy.Take()
		for i, a := range g.together(t, members...) {
			if a.outcome() != done || ids[string(a.rec.Body)] {
				t.Errorf("command %d: %s, id %s, %v; want an id that no other has", i, a.outcome(), a.rec.Body, a.err)
			}
			ids[string(a.rec.Body)] = true
		}
		trips := expectTrips(t, proxy, run, 3)
		if drawn := strings.Contains(fmt.Sprint(trips), "DrawOrderID"); drawn != (run != "needs no more") {
			t.Errorf("%s: ids were drawn: %t", run, drawn)
		}
	}
	if n := d.count(t, "SELECT count(*) FROM orders"); n != 4*largestGroup {
		t.Errorf("%d orders were stored", n)
	}
}
