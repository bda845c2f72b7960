package faults

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/lab/history"
)

// Counters that faults wait for.
const (
	unknownOutcomes      = "responses outcome_unknown"
	unavailableResponses = "responses unavailable"
	keysInProgress       = "responses idempotency_in_progress"
	unknownReplayed      = "unknown outcomes that were replayed later"
	promisesChecked      = "promises checked"
	readsAlone           = "reads without the standby"
	sharedTransactions   = "commands that shared the transaction of another"
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

// awaitMore waits until a counter has grown by n.
func (c *Counters) awaitMore(t testing.TB, name string, n int) {
	t.Helper()
	target := c.Get(name) + n
	e2e.Eventually(t, fmt.Sprintf("%d more %s", n, name), func() bool { return c.Get(name) >= target })
}

// untilMore strikes until a counter has grown by n.
func (c *Counters) untilMore(t testing.TB, name string, n int, strike func()) {
	t.Helper()
	target := c.Get(name) + n
	e2e.Eventually(t, "more "+name, func() bool {
		strike()
		return c.Get(name) >= target
	})
}

// replayedUnknowns counts keys with an unknown outcome and a later replay.
func replayedUnknowns(attempts []history.Attempt) int {
	unknown, replayed := map[history.ID]bool{}, map[history.ID]bool{}
	for _, a := range attempts {
		if a.Code == "outcome_unknown" {
			unknown[a.ID()] = true
		}
		if unknown[a.ID()] && a.Result == "reused" {
			replayed[a.ID()] = true
		}
	}
	return len(replayed)
}
