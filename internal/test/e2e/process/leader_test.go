package process_test

import (
	"syscall"
	"testing"
	"time"

	"example.com/orders/internal/test/e2e"
)

// leader returns which process starts the jobs that are due by the clock, or "".
func leader(t testing.TB, env *e2e.Env) (id string) {
	t.Helper()
	err := env.DB.QueryRow(t.Context(), "SELECT coalesce(max(leader_id), '') FROM river.river_leader").Scan(&id)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// killBetweenJobs kills a process that runs no job. The run of a killed process would be
// repeated later, and the next job of its kind would wait for that.
func killBetweenJobs(t testing.TB, env *e2e.Env, p *e2e.Process) {
	t.Helper()
	e2e.Eventually(t, "the process runs no job", func() bool {
		p.Pause(t)
		idle := env.Count(t, "SELECT count(*) FROM river.river_job WHERE state = 'running'") == 0
		if !idle {
			p.Signal(t, syscall.SIGCONT)
		}
		return idle
	})
	p.Kill()
}

func TestJobs_GoOnWhenTheirLeaderIsKilled(t *testing.T) {
	t.Parallel()
	for name, setting := range map[string]string{
		"that listens": "ORDERS_DATABASE_POOLER=none", "that polls": "ORDERS_DATABASE_POOLER=transaction",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const orders = 100
			s := e2e.Start(t)
			s.StockUp(t, e2e.Stock{"tea": orders})
			binary := e2e.BuildOrders(t)
			first := s.StartProcess(t, binary, setting)
			e2e.Eventually(t, "the first process leads", func() bool { return leader(t, s.Env) != "" })
			killed := leader(t, s.Env)
			s.StartProcess(t, binary, setting)
			killBetweenJobs(t, s.Env, first)
			start := time.Now()
			insertExpiredOrders(t, s.Env, "tea", orders)

			e2e.Eventually(t, "the other process has released the stock", func() bool {
				return countExpiredReservations(t, s.Env) == 0
			})
			t.Logf("the jobs went on after %s", time.Since(start).Round(time.Second))
			if now := leader(t, s.Env); now == "" || now == killed {
				t.Errorf("%q leads, and %q was killed", now, killed)
			}
			s.WantStock(t, "tea", orders, 0)
			if n := s.Count(t, "SELECT count(*) FROM orders WHERE version <> 2"); n != 0 {
				t.Errorf("%d reservations were released more than once", n)
			}
		})
	}
}
