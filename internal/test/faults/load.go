package faults

import (
	"context"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/orders/internal/test/e2e"
)

// patience is how long a client waits for one response of processes of the run.
const patience = 15 * time.Second

// Load is the clients of a run, and the world that they work in.
type Load struct {
	*System
	t     testing.TB
	seed  uint64
	world *world
	http  http.Client
	// allowed are verdicts that the fault may cause, beside those of the operations.
	allowed []string
	// decided counts operations whose outcome the clients know.
	decided atomic.Int64

	mu sync.Mutex
	// finished are these operations, and promises some of their responses.
	finished []span
	promises []promise
}

// newLoad stocks the shops and credits the customers.
func newLoad(t testing.TB, s *System, seed uint64, allowed []string) *Load {
	t.Helper()
	// Each request has a connection of its own: net/http sends a request with an
	// Idempotency-Key again by itself when a reused connection breaks, and the history would
	// not show it.
	l := &Load{System: s, t: t, seed: seed, allowed: allowed, world: newWorld(), http: http.Client{
		Transport: &http.Transport{DisableKeepAlives: true}, Timeout: s.AttemptTimeout,
	}}
	s.load = l
	l.world.warehouse = newWarehouse(t, s.Streams)
	s.Provider.SendTo(startWebhookProxy(t, s, seed))
	l.stockUp()
	return l
}

// Those who draw random numbers beside the clients of a plan, which have the numbers below.
const (
	stocker = 100 + iota
	striker
	deliverer
	checker
	firstProbe
)

// newClient returns a client. Every draw of it comes from the seed of the run.
func (l *Load) newClient(number int) *client {
	source := func(stream int) *rand.Rand { return rand.New(rand.NewPCG(l.seed, uint64(2*number+stream))) }
	return &client{Load: l, number: number, random: source(0), retries: source(1)}
}

// start lets clients work until stop is called. stop waits until each operation that was
// begun is decided.
func (l *Load) start(clients int) (stop func()) {
	ctx, cancel := context.WithCancel(l.t.Context())
	var working sync.WaitGroup
	for number := range clients {
		working.Go(func() {
			for c := l.newClient(number); ctx.Err() == nil && !l.t.Failed(); {
				draw(c.random, acts)(c)
			}
		})
	}
	return func() {
		cancel()
		working.Wait()
	}
}

// noteFinished remembers an operation whose outcome a client knows.
func (l *Load) noteFinished(s span) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.finished = append(l.finished, s)
	l.decided.Add(1)
}

// awaitDecided waits until n more operations are decided.
func (l *Load) awaitDecided(n int64) {
	l.t.Helper()
	target := l.decided.Load() + n
	e2e.Eventually(l.t, "clients know the outcome of more operations", func() bool {
		return l.decided.Load() >= target || l.t.Failed()
	})
	if l.t.Failed() {
		l.t.FailNow()
	}
}

// choice is one of several things to do, and how often it is drawn.
type choice[T any] struct {
	weight int
	what   T
}

// draw draws one of the choices.
func draw[T any](random *rand.Rand, choices []choice[T]) T {
	sum := 0
	for _, c := range choices {
		sum += c.weight
	}
	n := random.IntN(sum)
	for _, c := range choices {
		if n -= c.weight; n < 0 {
			return c.what
		}
	}
	panic("unreachable")
}

// oneOf draws one element.
func oneOf[T any](random *rand.Rand, of []T) T { return of[random.IntN(len(of))] }
