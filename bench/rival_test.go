package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// benchWithRivals returns a benchmark with another build and a peer.
func benchWithRivals() *bench {
	return &bench{rivals: []*rival{{name: "other build"}, {name: "express", peer: true}}}
}

func TestNewSeries_HasTheRivalsThatRunTheCommand(t *testing.T) {
	t.Parallel()
	for _, c := range commands() {
		var names []string
		for _, r := range benchWithRivals().newSeries(c, 1, probe{}).rivals {
			names = append(names, r.name)
		}
		want := []string{"other build"}
		if slices.Contains(peerCommands, c.name) {
			want = append(want, "express")
		}
		if !slices.Equal(names, want) {
			t.Errorf("%s: rivals %v, want %v", c.name, names, want)
		}
	}
}

func TestPeerCommands_AreCommands(t *testing.T) {
	t.Parallel()
	for _, name := range peerCommands {
		if !slices.ContainsFunc(commands(), func(c command) bool { return c.name == name }) {
			t.Errorf("no command has the name %s", name)
		}
	}
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
	const peers = "| CreditBalance | 64 | service | 4000 | **2.00** | 1.00 | 2.00 | 0.100 | 0.200 |\n" +
		"| CreditBalance | 64 | express | 2000 | **1.00** | 2.00 | 8.00 | 0.400 | 0.400 |\n"
	if text := peersSection(all); !strings.HasSuffix(text, "---:|\n"+peers) {
		t.Errorf("want only the rows %s in:\n%s", peers, text)
	}
}

func TestOtherSection_HasDashesWithoutRatios(t *testing.T) {
	t.Parallel()
	s := benchWithRivals().newSeries(commands()[0], 64, probe{})
	s.baseline, s.service = samplesAt(1000), samplesAt(1000)
	for _, r := range s.rivals {
		r.samples = samplesAt(1000)
	}
	const row = "| CreditBalance | 64 | 1000 | 1000 | **1.00** | – | – | – | – |\n"
	if text := otherSection([]*series{s}); !strings.HasSuffix(text, row) {
		t.Errorf("no row %s in:\n%s", row, text)
	}
}

func TestRivalSections_AreEmptyWithoutRivals(t *testing.T) {
	t.Parallel()
	if text := otherSection(twoCommands()) + peersSection(twoCommands()); text != "" {
		t.Errorf("sections without rivals: %s", text)
	}
}
