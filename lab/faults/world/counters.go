package world

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// Counters that faults wait for.
const (
	UnknownOutcomes      = "responses outcome_unknown"
	UnavailableResponses = "responses unavailable"
	KeysInProgress       = "responses idempotency_in_progress"
	UnknownReplayed      = "unknown outcomes that were replayed later"
	PromisesChecked      = "promises checked"
	ReadsAlone           = "reads without the standby"
	SharedTransactions   = "commands that shared the transaction of another"
)

// Counters count events in a run.
type Counters struct {
	mu     sync.Mutex
	counts map[string]int
}

// Add adds n to a counter.
func (c *Counters) Add(name string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = map[string]int{}
	}
	c.counts[name] += n
}

// Get returns a counter.
func (c *Counters) Get(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[name]
}

// Require fails the test unless all these counters are positive.
func (c *Counters) Require(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		if c.Get(name) == 0 {
			t.Errorf("the fault did not happen: no %s", name)
		}
	}
}

// String returns all counters by name.
func (c *Counters) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var text []string
	for _, name := range slices.Sorted(maps.Keys(c.counts)) {
		text = append(text, fmt.Sprintf("%s %d", name, c.counts[name]))
	}
	return strings.Join(text, ", ")
}

// AwaitMore waits until a counter has grown by n.
func (c *Counters) AwaitMore(t testing.TB, name string, n int) {
	t.Helper()
	target := c.Get(name) + n
	e2e.Eventually(t, fmt.Sprintf("%d more %s", n, name), func() bool { return c.Get(name) >= target })
}

// UntilMore strikes until a counter has grown by n.
func (c *Counters) UntilMore(t testing.TB, name string, n int, strike func()) {
	t.Helper()
	target := c.Get(name) + n
	e2e.Eventually(t, "more "+name, func() bool {
		strike()
		return c.Get(name) >= target
	})
}
