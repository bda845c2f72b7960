package main

import (
	"strings"
	"testing"
	"time"
)

func lockedRounds() []*lockedRound {
	round := func(alone, free, locked float64, failed int64) *lockedRound {
		return &lockedRound{
			alone: sample{rate: alone}, free: sample{rate: free}, locked: sample{rate: locked},
			failed: failed,
		}
	}
	return []*lockedRound{round(1000, 900, 800, 0), round(500, 450, 450, 2), round(1000, 900, 900, 1)}
}

func TestLockedSection_ShowsRatiosAndFailures(t *testing.T) {
	t.Parallel()
	text := lockedSection(lockedRounds(), 10*time.Second)
	if want := "| 1000 | 900 | 800 | **0.90** | 1.00 | 0.00 | 0.00 | 3 |"; !strings.Contains(text, want) {
		t.Errorf("no row %s in:\n%s", want, text)
	}
	if text := lockedSection(nil, 0); text != "" {
		t.Errorf("a section without measurements: %s", text)
	}
}

func TestFailuresOf_ReportsFailedRequests(t *testing.T) {
	t.Parallel()
	rounds := lockedRounds()
	if err := failuresOf(rounds); err == nil {
		t.Error("no error, although requests failed")
	}
	if err := failuresOf(rounds[:1]); err != nil {
		t.Errorf("no request failed, but got %v", err)
	}
}
