package faults

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"example.com/orders/internal/test/e2e"
)

// moreGoroutines is how many goroutines a replica may have more than before the clients
// came. Connections and timers come and go.
const moreGoroutines = 25

// maxConnections is how many connections to PostgreSQL a replica may keep: its three pools,
// and the listener of the jobs.
func maxConnections() int { return 1 + max(8, 4*runtime.NumCPU())*4/3 + 4 + 1 }

// footprint is what the replicas hold.
type footprint struct {
	goroutines  []int // by replica
	connections int
}

func (l *Load) footprint() footprint {
	l.t.Helper()
	f := footprint{connections: l.Count(l.t, `SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND application_name = 'orders'`)}
	for _, e := range l.Endpoints {
		f.goroutines = append(f.goroutines, e2e.Goroutines.Read(l.t, e.AdminAddr))
	}
	return f
}

// leaks returns what is held beyond an earlier footprint.
func (f footprint) leaks(before footprint) []string {
	var found []string
	for i, n := range f.goroutines {
		if n > before.goroutines[i]+moreGoroutines {
			found = append(found, fmt.Sprintf("replica %d has %d goroutines, and had %d", i, n, before.goroutines[i]))
		}
	}
	if limit := len(f.goroutines) * maxConnections(); f.connections > limit {
		found = append(found, fmt.Sprintf("%d connections, and %d are enough", f.connections, limit))
	}
	return found
}

// awaitNoLeaks waits until the replicas hold no more than before the clients came (I13).
func (l *Load) awaitNoLeaks(before footprint) {
	l.t.Helper()
	var leaks []string
	for range e2e.Patience / settlePause {
		if leaks = l.footprint().leaks(before); len(leaks) == 0 {
			return
		}
		time.Sleep(settlePause)
	}
	l.t.Errorf("goroutines and connections are back to base (I13), but: %s", strings.Join(leaks, ", "))
}
