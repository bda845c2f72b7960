package checks

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/lab/faults/clients"
)

// moreGoroutines is the tolerated growth in a replica's goroutines since before the
// clients came. Connections and timers come and go.
const moreGoroutines = 25

// maxConnections is the most PostgreSQL connections that a replica may keep: the pools for
// requests, jobs and readiness, whose checks overlap while a replica starts under load, and
// the job listener.
func maxConnections() int { return max(8, 4*runtime.NumCPU())*4/3 + 4 + 8 + 1 }

// footprint is the replicas' resource usage.
type footprint struct {
	goroutines  []int // by replica
	connections int
}

func readFootprint(l *clients.Load) footprint {
	f := footprint{connections: l.Count(l.T, `SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND application_name = 'orders'`)}
	for _, e := range l.Endpoints {
		f.goroutines = append(f.goroutines, e2e.Goroutines.Read(l.T, e.AdminAddr))
	}
	return f
}

// base returns the footprint of replicas at work. Each starts its relay last, after its
// jobs.
func base(l *clients.Load) footprint {
	for _, e := range l.Endpoints {
		e2e.Eventually(l.T, "the replica's relay runs", func() bool {
			_, goroutines := e2e.Fetch(l.T, "http://"+e.AdminAddr+"/debug/pprof/goroutine?debug=1")
			return strings.Contains(goroutines, "outbox.(*Relay).Run")
		})
	}
	return readFootprint(l)
}

// leaks returns growth since an earlier footprint.
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

// awaitNoLeaks waits until the replicas hold no more than before the clients came
// (I13).
func awaitNoLeaks(l *clients.Load, before footprint) {
	var leaks []string
	for range e2e.Patience / settlePause {
		if leaks = readFootprint(l).leaks(before); len(leaks) == 0 {
			return
		}
		time.Sleep(settlePause)
	}
	l.T.Errorf("goroutines and connections are back to base (I13), but: %s", strings.Join(leaks, ", "))
}
