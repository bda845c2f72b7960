package main

import (
	"strings"
	"testing"
	"time"
)

// benchWithRivals returns a benchmark with another build.
func benchWithRivals() *bench {
	return &bench{rivals: []*rival{{name: "other build"}}}
}

// withSamples returns a series in which the rivals have half the rate of the service.
func withSamples() *series {
	s := benchWithRivals().newSeries(commands()[0], 64, probe{})
	s.baseline = samplesAt(2000)
	s.service = []sample{{rate: 4000, p50: time.Millisecond, p99: 2 * time.Millisecond, cpuService: 0.1, cpuPostgres: 0.2}}
	for _, r := range s.rivals {
		r.samples = []sample{{rate: 2000, p50: 2 * time.Millisecond, p99: 8 * time.Millisecond, cpuService: 0.4, cpuPostgres: 0.4}}
	}
	return s
}

func TestRivalSections_HaveRowsOfTheirRivals(t *testing.T) {
	t.Parallel()
	all := []*series{withSamples()}
	const other = "| CreditBalance | 64 | 2000 | 4000 | **2.00** | 0.50 | 0.25 | 0.25 | 0.50 |\n"
	if text := otherSection(all); !strings.HasSuffix(text, "---:|\n"+other) {
		t.Errorf("want only the row %s in:\n%s", other, text)
	}
}

func TestRivalSections_AreEmptyWithoutRivals(t *testing.T) {
	t.Parallel()
	if text := otherSection(twoCommands()); text != "" {
		t.Errorf("sections without rivals: %s", text)
	}
}
