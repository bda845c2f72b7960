// Package step runs the real service on the real PostgreSQL, and chooses the order of
// events: every message between the two waits until a scheduler lets it pass. A run is
// repeated by its seed.
//
// The service runs in a bubble of testing/synctest. There time passes only when the
// scheduler says so, and the bubble reports when every goroutine waits. Then the next
// step is chosen: a client sends a request, a message reaches the server, a reply
// reaches the service, the clock advances, or something breaks. So two commands can meet
// in every order that the database allows.
package step

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/adapters/out/postgres/group"
	"example.com/orders/internal/outbox"
	"example.com/orders/kit/guard"
	"example.com/orders/lab/step/server"
)

// tick is how far the clock advances in a step: longer than every short pause of the
// service, so that random pauses decide no order.
const tick = 25 * time.Millisecond

// maxTicks bounds the ticks in which nothing else can happen. Longer than that, and a
// request is stuck.
const maxTicks = 2000

// maxSteps bounds a run. The longest of 1,500 had 363 steps.
const maxSteps = 1000

// run is one execution.
type run struct {
	w         *world
	attempts  []*attempt
	replicas  []*postgres.DB
	services  []*service
	provider  *provider
	published []outbox.Event
	received  []receipt
	choose    func(enabled []string) string
	taken     []string // steps
	events    []event

	stored map[guard.ID]bool // keys with a committed record
	found  []string          // violations

	mu     sync.Mutex
	links  []*link
	dialed map[string]int
	sent   map[guard.ID]int // requests by key
	// sendings are the requests to receivers that have no answer. So many have had a name.
	sendings []*sending
	named    int
}

// execute runs the commands in an order that choose decides.
func (w *world) execute(t *testing.T, p plan, choose func(enabled []string) string) *run {
	t.Helper()
	r := &run{w: w, provider: newProvider(), choose: choose, dialed: map[string]int{}, sent: map[guard.ID]int{}, stored: map[guard.ID]bool{}}
	for _, asked := range p.requests {
		r.attempts = append(r.attempts, &attempt{request: asked})
	}
	r.fail(w.restore())
	synctest.Test(t, func(t *testing.T) {
		for name := range 2 {
			r.start(t, string(rune('a'+name)), p.lanes)
		}
		r.loop()
		r.checkIdle(p.lanes)
		r.stop()
	})
	r.checkEnd()
	return r
}

// start opens a replica whose connections end here.
func (r *run) start(t *testing.T, name string, lanes int) {
	t.Helper()
	db, err := postgres.Open(t.Context(), postgres.Config{
		URL: r.w.serviceURL, MaxConns: 6,
		Dial: func(context.Context, string, string) (net.Conn, error) { return r.dial(name), nil },
	}, postgres.Groups{Lanes: lanes, Observe: observer{r: r}})
	if err != nil {
		t.Fatal(err)
	}
	s := newService(r.provider, db.Orders(), db.Payments(), db.Webhooks(), db.Keys())
	s.late = func(id guard.ID) bool { return r.isStored(id) && !r.hasKilled(name) }
	s.publish = func(ctx context.Context) error { return r.publish(ctx, db.Outbox()) }
	s.deliver = r.courier(name, db.Deliveries(), s.webhooks)
	r.replicas, r.services = append(r.replicas, db), append(r.services, s)
}

// observer counts groups by their number of commands.
type observer struct {
	group.Unobserved
	r *run
}

// GroupRan implements [group.Observer].
func (o observer) GroupRan(commands int) {
	o.r.mu.Lock()
	defer o.r.mu.Unlock()
	o.r.w.groups[commands]++
}

// isStored reports whether a key's response is committed.
func (r *run) isStored(id guard.ID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stored[id]
}

// hasKilled reports whether a replica has a transaction that is gone and does not know it
// yet: its session was killed after it had replied.
func (r *run) hasKilled(replica string) bool {
	return slices.ContainsFunc(r.open(), func(l *link) bool {
		return strings.HasPrefix(l.name, replica) && l.session != nil && l.session.Ended && l.open
	})
}

// publish publishes the events of the outbox, as the relay does.
func (r *run) publish(ctx context.Context, from *postgres.Outbox) error {
	events, err := from.Unpublished(ctx, 100)
	if err != nil || len(events) == 0 {
		return err
	}
	r.mu.Lock()
	r.published = append(r.published, events...)
	r.mu.Unlock()
	ids := make([]string, len(events))
	for i, e := range events {
		ids[i] = e.ID
	}
	return from.MarkPublished(ctx, ids)
}

func (r *run) dial(replica string) net.Conn {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dialed[replica]++
	l := &link{Conn: server.NewConn(), name: fmt.Sprint(replica, r.dialed[replica])}
	i, _ := slices.BinarySearchFunc(r.links, l, byName)
	r.links = slices.Insert(r.links, i, l)
	return l
}

func byName(a, b *link) int { return strings.Compare(a.name, b.name) }

// open returns the connections by name: two that are dialed at one moment have no order.
func (r *run) open() []*link {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.links)
}

// remove forgets a connection that has ended.
func (r *run) remove(l *link) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.links = slices.DeleteFunc(r.links, func(other *link) bool { return other == l })
}

// fail records a defect of the run itself.
func (r *run) fail(err error) {
	if err != nil {
		r.found = append(r.found, "the run failed: "+err.Error())
	}
}

// loop chooses steps until every command is decided and every connection is idle.
func (r *run) loop() {
	for ticks := 0; len(r.found) == 0; {
		r.settle()
		enabled := r.enabled()
		if len(enabled) == 0 {
			if r.over() {
				return
			}
			ticks++
			if ticks > maxTicks {
				r.found = append(r.found, "stuck: "+r.undecided())
				return
			}
			time.Sleep(tick)
			continue
		}
		ticks = 0
		if len(r.taken) == maxSteps {
			r.found = append(r.found, "endless: "+r.undecided())
			return
		}
		step := r.choose(enabled)
		r.taken = append(r.taken, step)
		r.take(step)
	}
}

func (r *run) over() bool {
	for _, a := range r.attempts {
		if !a.isOver() {
			return false
		}
	}
	return true
}

func (r *run) undecided() string {
	var names []string
	for _, a := range r.attempts {
		if !a.isOver() {
			names = append(names, a.String())
		}
	}
	return strings.Join(names, "; ")
}

// settle waits until the service has nothing to do, and answers what is no step.
func (r *run) settle() {
	for len(r.found) == 0 && r.process() {
	}
	for _, a := range r.attempts {
		a.mu.Lock()
		for _, answer := range a.answers {
			r.note(r.replicaName(a), a.by.Subject, answer)
		}
		a.answers = nil
		a.mu.Unlock()
	}
}

// stop closes the replicas. A run that failed breaks what they still do.
func (r *run) stop() {
	if len(r.found) > 0 {
		time.Sleep(time.Minute) // until the deadlines of its requests
	}
	var closing sync.WaitGroup
	for _, db := range r.replicas {
		closing.Go(db.Close)
	}
	var closed atomic.Bool
	go func() { closing.Wait(); closed.Store(true) }()
	for !closed.Load() || len(r.open()) > 0 {
		if r.process() {
			continue
		}
		for _, l := range r.open() {
			l.Sever()
		}
		time.Sleep(tick)
	}
}

// process answers what is no step, and reports whether there was anything.
func (r *run) process() (busy bool) {
	synctest.Wait()
	for _, l := range r.open() {
		if r.automatic(l) {
			busy = true
			synctest.Wait()
		}
	}
	return busy
}
