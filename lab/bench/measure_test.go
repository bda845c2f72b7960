package bench

import "testing"

// samplesAt returns samples with the given rates.
func samplesAt(rates ...float64) []sample {
	samples := make([]sample, len(rates))
	for i, rate := range rates {
		samples[i].rate = rate
	}
	return samples
}

// The machine is half as fast in the second round as in the first.
func TestRatio_IgnoresMachineSpeedOfRound(t *testing.T) {
	t.Parallel()
	s := series{baseline: samplesAt(1000, 500, 1100), service: samplesAt(900, 450, 1100)}
	if got := s.ratio(); got != 0.9 {
		t.Errorf("ratio = %v, want 0.9", got)
	}
}
