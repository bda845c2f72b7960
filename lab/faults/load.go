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

// patience bounds a client's wait for one response when the replicas are local
// processes.
const patience = 15 * time.Second

// Load is a run's clients and their world.
type Load struct {
	*System
	t     testing.TB
	seed  uint64
	world *world
	http  http.Client
	// allowed are verdicts that the fault may cause, beside the operations' verdicts.
	allowed []string
	// decided counts operations with a known outcome.
	decided atomic.Int64

	mu sync.Mutex
	// finished are the decided operations, and promises are some of their responses.
	finished []span
	promises []promise
}

// newLoad stocks the shops and credits the customers.
func newLoad(t testing.TB, s *System, seed uint64, allowed []string) *Load {
	t.Helper()
	// One connection per request: net/http resends a request with an Idempotency-Key
	// when a reused connection breaks, and the history would not show it.
	l := &Load{System: s, t: t, seed: seed, allowed: allowed, world: newWorld(), http: http.Client{
		Transport: &http.Transport{DisableKeepAlives: true}, Timeout: s.AttemptTimeout,
	}}
	s.load = l
	l.world.warehouse = newWarehouse(t, s.Streams)
	s.Provider.SendTo(startWebhookProxy(t, s, seed))
	l.stockUp()
	return l
}

// Random sources beside a plan's clients, which have the numbers below.
const (
	stocker = 100 + iota
	striker
	deliverer
	checker
	firstProbe
)

// newClient returns a client. All its draws follow from the run's seed.
func (l *Load) newClient(number int) *client {
	source := func(stream int) *rand.Rand { return rand.New(rand.NewPCG(l.seed, uint64(2*number+stream))) }
	return &client{Load: l, number: number, random: source(0), retries: source(1)}
}

// start lets clients work until stop is called. stop waits until each operation in
// progress is decided.
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

// noteFinished remembers a decided operation.
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

// choice is an option with its weight.
type choice[T any] struct {
	weight int
	what   T
}

// draw draws one option.
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
