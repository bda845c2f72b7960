package postgres_test

import (
	"sync"
	"testing"
	"time"

	"example.com/orders/internal/adapters/out/postgres"
)

// observer records what the store reports.
type observer struct {
	mu          sync.Mutex
	runs, sizes []int
	splits      int
	restarts    []string
}

func (o *observer) note(change func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change()
}

func (o *observer) TransactionEnded(runs int) { o.note(func() { o.runs = append(o.runs, runs) }) }

func (o *observer) TransactionRestarted(reason string) {
	o.note(func() { o.restarts = append(o.restarts, reason) })
}

func (o *observer) GroupRan(commands int) { o.note(func() { o.sizes = append(o.sizes, commands) }) }

func (o *observer) GroupSplit() { o.note(func() { o.splits++ }) }

func (*observer) CommandQueued(time.Duration) {}

func (*observer) RecordsStored(int) {}

// observed opens a database whose transactions are observed.
func observed(t *testing.T, url string) (*postgres.DB, *observer) {
	t.Helper()
	saw := &observer{}
	return openWith(t, postgres.Config{URL: url, Observe: saw}, postgres.Groups{}), saw
}
