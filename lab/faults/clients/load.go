// Package clients contains the load of a run: clients that retry and misbehave. They
// remember each response that the checks need.
package clients

import (
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/lab/faults/world"
	"example.com/orders/lab/history"
)

const (
	// Most bounds concurrent clients.
	Most = 8
	// Pause is the minimum number of decided operations before a strike.
	Pause = 30
)

// Load is a run's clients and the system that they use.
type Load struct {
	*world.System
	T    testing.TB
	seed uint64
	// probes counts the clients that strikes use.
	probes int
	Memory *Memory
	http   http.Client
	// allowed are verdicts that the fault may cause, beside the operations' verdicts.
	allowed []string
	// Decided counts operations with a known outcome.
	Decided atomic.Int64

	mu       sync.Mutex
	finished []Span
	promises []Promise
}

// New stocks the shops and credits the customers.
func New(t testing.TB, s *world.System, seed uint64, allowed []string) *Load {
	t.Helper()
	// One connection per request: net/http resends a request with an Idempotency-Key
	// when a reused connection breaks, and the history would not show it.
	l := &Load{System: s, T: t, seed: seed, allowed: allowed, Memory: newMemory(), http: http.Client{
		Transport: &http.Transport{DisableKeepAlives: true}, Timeout: s.AttemptTimeout,
	}}
	l.Memory.Warehouse = newWarehouse(t, s.Streams)
	s.Provider.SendTo(world.StartWebhookProxy(t, s, rand.New(rand.NewPCG(seed, 2*deliverer))))
	l.stockUp()
	return l
}

// Random sources beside a plan's clients, which have the numbers below.
const (
	stocker = 100 + iota
	Striker
	deliverer
	Checker
	FirstProbe
)

// NewClient returns a client. All its draws follow from the run's seed.
func (l *Load) NewClient(number int) *Client {
	source := func(stream int) *rand.Rand { return rand.New(rand.NewPCG(l.seed, uint64(2*number+stream))) }
	return &Client{Load: l, number: number, Random: source(0), retries: source(1)}
}

// Start lets clients work until stop is called. stop waits until each operation in
// progress is decided.
func (l *Load) Start(clients int) (stop func()) {
	ctx, cancel := context.WithCancel(l.T.Context())
	var working sync.WaitGroup
	for number := range clients {
		working.Go(func() {
			for c := l.NewClient(number); ctx.Err() == nil && !l.T.Failed(); {
				draw(c.Random, acts)(c)
			}
		})
	}
	return func() {
		cancel()
		working.Wait()
	}
}

// Finished returns the spans of the decided operations.
func (l *Load) Finished() []Span {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.finished)
}

// noteFinished remembers a decided operation.
func (l *Load) noteFinished(s Span) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.finished = append(l.finished, s)
	l.Decided.Add(1)
}

// AwaitDecided waits until n more operations are decided.
func (l *Load) AwaitDecided(n int64) {
	l.T.Helper()
	target := l.Decided.Load() + n
	e2e.Eventually(l.T, "clients know the outcome of more operations", func() bool {
		return l.Decided.Load() >= target || l.T.Failed()
	})
	if l.T.Failed() {
		l.T.FailNow()
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

// OneOf draws one element.
func OneOf[T any](random *rand.Rand, of []T) T { return of[random.IntN(len(of))] }

// NewProbe returns a client for a strike.
func (l *Load) NewProbe() *Client {
	l.probes++
	return l.NewClient(FirstProbe + l.probes)
}

// Span is the time from a command's first attempt until its client knows the outcome.
type Span struct{ From, To time.Duration }

// Promise is a command with a stored response that a client knows.
type Promise struct {
	Op    Operation
	First history.Attempt
}

// notePromise remembers a command with a stored response. No client makes its record
// expire.
func (l *Load) notePromise(op Operation, first history.Attempt) {
	if first.Result == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.promises = append(l.promises, Promise{op, first})
}

// Promises returns the noted promises.
func (l *Load) Promises() []Promise {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.promises)
}

// LookUp is a read of the promise's key.
func (p Promise) LookUp() Operation { return LookUp(p.Op.call.Key, p.Op.Subject, p.Op.role) }
