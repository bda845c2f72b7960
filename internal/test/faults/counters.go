package faults

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Counters count what happened in a run.
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

// Require fails the test unless all these counters are above zero.
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
