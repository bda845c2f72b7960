package bench

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// measured returns one round of measurements, in which another build has half the rate
// of the service.
func measured(name string, connections int, baseline, service float64) *series {
	return &series{
		command:     command{name: name, description: "a < b"},
		connections: connections,
		baseline:    samplesAt(baseline),
		service: []sample{{
			rate: service, p50: time.Millisecond, p99: 3 * time.Millisecond, cpuService: 0.1,
		}},
		rival: []sample{{
			rate: service / 2, p50: 2 * time.Millisecond, p99: 12 * time.Millisecond, cpuService: 0.4,
		}},
	}
}

func TestReportText_HasOneTablePerCommand(t *testing.T) {
	t.Parallel()
	text := reportText("setup\n", []*series{
		measured("Credit", 1, 1000, 900), measured("Credit", 16, 5200, 6100), measured("Hot", 16, 700, 600),
	})
	var columns []int
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "|") {
			columns = append(columns, strings.Count(line, "|"))
		}
	}
	const headingRows, dataRows = 2 * 2, 3
	if len(columns) != headingRows+dataRows || slices.Min(columns) != slices.Max(columns) {
		t.Errorf("columns by row: %v in:\n%s", columns, text)
	}
	if !strings.Contains(text, "| 16 | 5200 | 6100 | **1.17** |") {
		t.Errorf("no row of 16 connections in:\n%s", text)
	}
}

// Neither build has used measurable CPU time of PostgreSQL.
func TestRivalSection_HasRatiosOrDashes(t *testing.T) {
	t.Parallel()
	s := measured("Credit", 64, 2000, 4000)
	const row = "| Credit | 64 | 2000 | 4000 | **2.00** | 0.50 | 0.25 | 0.25 | – |\n"
	if text := rivalSection([]*series{s}); !strings.HasSuffix(text, "---:|\n"+row) {
		t.Errorf("want only the row %s in:\n%s", row, text)
	}
	s.rival = nil
	if text := rivalSection([]*series{s}); text != "" {
		t.Errorf("a section without another build: %s", text)
	}
}
