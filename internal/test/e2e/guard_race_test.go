package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
)

// unhurried makes everybody wait as long as it takes: what a race ends in must not
// depend on how fast the machine is.
const unhurried = "ORDERS_IDEMPOTENCY_WAIT=30s"

// roomy gives replicas connections enough for the slow commands of all routes at once.
func (w *world) roomy() string { return w.database("pool_max_conns", "20") }

// crowd is requests that are under way together.
type crowd struct {
	*world
	replies []reply
	sending sync.WaitGroup
}

// sendAll sends all calls at once, in turn to each of the replicas.
func (w *world) sendAll(calls []call, to ...*service) *crowd {
	all := &crowd{world: w, replies: make([]reply, len(calls))}
	w.Cleanup(all.sending.Wait) // the test's context is over then
	start := make(chan struct{})
	for i, c := range calls {
		all.sending.Go(func() {
			<-start
			r, err := to[i%len(to)].try(w.Context(), c)
			if err != nil && w.Context().Err() == nil {
				w.Errorf("request %d: %v", i, err)
			}
			all.replies[i] = r
		})
	}
	close(start)
	return all
}

// join waits for all answers.
func (all *crowd) join() []reply {
	all.Helper()
	done := make(chan struct{})
	go func() {
		all.sending.Wait()
		close(done)
	}()
	receive(all, done, "everybody is answered")
	return all.replies
}

// wantOne checks what many got who used one key at once: one of them ran, and everybody
// who asked the same has its answer. It gives that answer.
func (c scene) wantOne(replies []reply) reply {
	c.Helper()
	i := slices.IndexFunc(replies, func(r reply) bool { return r.header.Get("Idempotency-Result") == "created" })
	if i < 0 {
		c.Fatalf("nobody ran: %d %s", replies[0].status, replies[0].body)
	}
	for j, r := range replies {
		if j != i {
			c.wantReplay(replies[i], r)
		}
	}
	return replies[i]
}

// Sixty times the same at once, here or in two processes: all of them have come before
// the one that runs can end, for it stands before a locked row.
func TestGuardRunsOneOfSixtyAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	here, there := w.replica(w.roomy(), unhurried), w.replica(w.roomy(), unhurried)
	for name, replicas := range map[string][]*service{"in one process": {here}, "in two processes": {here, there}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachGuardedRoute(t, here.in(t), func(c scene) {
				d := &door{}
				var doors []*service
				for _, replica := range replicas {
					doors = append(doors, replica.in(c).behind(d))
				}
				row := c.hold(c.locks)
				all := c.sendAll(slices.Repeat([]call{c.with(c.newKey())}, 60), doors...)
				eventually(c, "all of them have come", func() bool { return d.arrived.Load() == 60 })
				row.awaitWaiter()
				row.release()
				c.wantFirst(c.wantOne(all.join()), c.status)
				c.wantEffects(1)
			})
		})
	}
}

// Who comes first decides what the key is for.
func TestGuardRunsOneOfTwoRequestsThatShareAKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	here, there := w.replica(w.roomy(), unhurried), w.replica(w.roomy(), unhurried)
	eachGuardedRoute(t, here, func(c scene) {
		one := c.with(c.newKey())
		two := one
		two.body = c.other
		if c.other == "" {
			two.body, two.path = one.body, one.path+"?another"
		}
		replies := c.sendAll(slices.Repeat([]call{one, one, two, two}, 13), c.service, there.in(c)).join()
		var asked [2][]reply
		for i, r := range replies {
			asked[i/2%2] = append(asked[i/2%2], r)
		}
		won, lost := asked[0], asked[1]
		if lost[0].code() != "idempotency_key_reused" {
			won, lost = lost, won
		}
		effects := 0
		if c.wantOne(won).status == c.status {
			effects = 1 // the other request may be one that is refused
		}
		c.wantEffects(effects)
		for _, r := range lost {
			if r.status != http.StatusConflict || r.code() != "idempotency_key_reused" {
				c.Errorf("the other request got %d %s, want 409 idempotency_key_reused", r.status, r.body)
			}
			c.wantOutcome(r, "", "")
		}
	})
}

// Keys do not make payments: the order does, and it is paid once.
func TestGuardLetsFiftyKeysPayAnOrderOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	here, there := w.replica(w.roomy()), w.replica(w.roomy())
	c := here.scene("confirmPayment")
	var calls []call
	for range 50 {
		calls = append(calls, c.with(c.newKey()))
	}
	row := c.hold(c.locks)
	all := c.sendAll(calls, here, there)
	row.awaitWaiter()
	row.release()
	paid := 0
	for _, r := range all.join() {
		c.wantOutcome(r, "created", "")
		switch {
		case r.status == http.StatusOK:
			paid++
		case r.status != http.StatusConflict || r.code() != "invalid_order_state":
			t.Errorf("got %d %s, want 200, or 409 invalid_order_state", r.status, r.body)
		}
	}
	if paid != 1 {
		t.Errorf("the order was paid %d times, want once", paid)
	}
	c.wantEffects(1)
	if got := c.balance(c.subject); got != "800.00" {
		t.Errorf("of 1000.00 are left %s, want 800.00", got)
	}
}

// Who cannot wait as long as the first request takes is told to come again, and finds the
// answer then.
func TestGuardTellsThatTheFirstRequestStillRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const hurried = "ORDERS_IDEMPOTENCY_WAIT=50ms"
	here, there := w.replica(w.roomy(), hurried), w.replica(w.roomy(), hurried)
	eachGuardedRoute(t, here, func(c scene) {
		asked := c.with(c.newKey())
		row := c.hold(c.locks)
		first := c.sendAll([]call{asked}, c.service)
		row.awaitWaiter()
		for _, r := range c.sendAll(slices.Repeat([]call{asked}, 6), c.service, there.in(c)).join() {
			if r.status != http.StatusConflict || r.code() != "idempotency_in_progress" || r.header.Get("Retry-After") == "" {
				c.Errorf("got %d %v %s, want 409 idempotency_in_progress with Retry-After", r.status, r.header, r.body)
			}
			c.wantOutcome(r, "", "")
		}
		c.wantProblem(http.StatusNotFound, "not_found", c.lookup(asked.token, asked.key))
		c.wantEffects(0)
		row.release()
		answer := first.join()[0]
		c.wantFirst(answer, c.status)
		c.wantReplay(answer, c.send(asked))
		c.wantReplay(answer, there.in(c).send(asked))
		c.wantEffects(1)
	})
}

// A duplicate waits for the first request as long as its client waits for it, and has
// nothing to finish when the client is gone.
func TestGuardStopsWaitingForAClientThatHungUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	eachGuardedRoute(t, w.replica(w.roomy(), unhurried), func(c scene) {
		key := c.newKey()
		row := c.hold(c.locks)
		first := c.sendAll([]call{c.with(key)}, c.service)
		row.awaitWaiter()
		d := &door{}
		hangUp, failed := c.at(c.behind(d)).sendAndGo(key)
		eventually(c, "the duplicate comes", func() bool { return d.arrived.Load() == 1 })
		hangUp()
		if err := receive(c, failed, "the client gives up"); err == nil {
			c.Error("the duplicate had an answer")
		}
		eventually(c, "the duplicate goes", func() bool { return d.left.Load() == 1 })
		row.release()
		c.wantFirst(first.join()[0], c.status)
		c.wantEffects(1)
	})
}

// Duplicates of a slow command wait without a connection: of the four that there are the
// command has one, and fifty duplicates leave the others to everybody else. That is shown
// by the order of events: the others pass while the command and its duplicates stand.
func TestGuardKeepsNoConnectionForDuplicates(t *testing.T) {
	t.Parallel()
	const connections, duplicates, others = 4, 50, 8
	for id := range guardedRoutes {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s := w.replica(w.database("pool_max_conns", fmt.Sprint(connections)), unhurried)
			c := s.scene(id)
			row := c.hold(c.locks)
			key := c.newKey()
			first := c.sendAll([]call{c.with(key)}, s)
			row.awaitWaiter()
			d := &door{}
			waiting := c.sendAll(slices.Repeat([]call{c.with(key)}, duplicates), c.behind(d))
			eventually(c, "duplicates are turned away", func() bool {
				return d.arrived.Load() == duplicates && c.backends("query = 'rollback'") > 0
			})

			for range others {
				s.credit(s.name("customer"), "1.00")
			}
			if n := d.left.Load(); n != 0 {
				t.Errorf("%d duplicates were answered before the others had passed", n)
			}
			if row.waiters("count(*)") != 1 {
				t.Error("the slow command ended before the others had passed")
			}
			if n := c.backends("TRUE"); n > connections {
				t.Errorf("the service has %d connections, want %d", n, connections)
			}
			if n := c.count(`SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
				WHERE d.datname = current_database() AND l.locktype = 'advisory' AND NOT l.granted`); n != 0 {
				t.Errorf("%d wait in the database for a key", n)
			}

			row.release()
			answer := first.join()[0]
			c.wantFirst(answer, c.status)
			for _, r := range waiting.join() {
				c.wantReplay(answer, r)
			}
			c.wantEffects(1)
		})
	}
}

// backends counts the connections of the service of which a condition holds.
func (w *world) backends(condition string) int {
	w.Helper()
	return w.count("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'orders' AND " + condition)
}
