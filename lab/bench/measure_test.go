package bench

import (
	"strings"
	"testing"
	"time"
)

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

// samplesTo returns one sample with p99, a rate of 100 and a median latency of 1 ms.
func samplesTo(p99 time.Duration) []sample {
	return []sample{{rate: 100, p50: time.Millisecond, p99: p99}}
}

func TestReport_ComparesTheTailWithTheBareServer(t *testing.T) {
	t.Parallel()
	s := &series{connections: 16, service: samplesTo(10 * time.Millisecond), baseline: samplesTo(12 * time.Millisecond)}

	replay := s.row()
	s.command.script = "credit"
	credit := s.row()

	if want := "| 1.00 | 10.00 | 10.0 | 12.0 |"; !strings.Contains(replay, want) {
		t.Errorf("replay: %s, want %s", replay, want)
	}
	if want := "| 1.00 | 10.00 | 10.0 |  |"; !strings.Contains(credit, want) {
		t.Errorf("credit: %s, want %s", credit, want)
	}
}

func TestRivalSection_ComparesTheTails(t *testing.T) {
	t.Parallel()
	s := &series{command: command{name: "Pay"}, connections: 16, service: samplesTo(5 * time.Millisecond), rival: samplesTo(8 * time.Millisecond)}

	text := rivalSection([]*series{s})

	if want := "| Pay | 16 | 100 | 100 | **1.00** | 1.00 | 0.62 | 8.0 | 5.0 |"; !strings.Contains(text, want) {
		t.Errorf("want %s in:\n%s", want, text)
	}
}
