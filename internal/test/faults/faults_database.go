package faults

import (
	"math/rand/v2"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// databaseFaults are faults of PostgreSQL.
var databaseFaults = []Fault{
	{
		Name: "killed-backends", Number: "F2", Short: true, Strikes: 5,
		Strike: func(t testing.TB, s *System, _ *rand.Rand) {
			t.Helper()
			// As the owner, in a loop until some were at work.
			e2e.Eventually(t, "backends are killed at work", func() bool {
				s.Counters.Add("backends killed", s.Count(t, `SELECT count(*) FILTER (WHERE pg_terminate_backend(pid))
					FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'orders' AND state = 'active'`))
				return s.Counters.Get("backends killed") > 0
			})
		},
		Proof: []string{"backends killed"},
	},
}
