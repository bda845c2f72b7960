package faults

import (
	"math/rand/v2"
	"testing"
)

// processFaults are faults of a replica.
var processFaults = []Fault{
	{
		Name: "killed-replica", Number: "F1", Short: true, Strikes: 3,
		Strike: func(t testing.TB, s *System, random *rand.Rand) {
			t.Helper()
			r := s.Replicas[random.IntN(len(s.Replicas))]
			r.Kill()
			s.Counters.Add("kills", 1)
			r.Start(t)
		},
		Proof: []string{"kills", "requests without a response"},
	},
}
