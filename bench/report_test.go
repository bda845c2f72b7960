package main

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

// twoCommands returns measurements of two commands: one at 1, 16 and 64 connections,
// the other only at 16.
func twoCommands() []*series {
	measured := func(name string, connections int, baseline, service float64) *series {
		s := &series{
			command:     command{name: name, description: "a < b & c"},
			connections: connections,
			baseline:    samplesAt(baseline), service: samplesAt(service),
		}
		s.service[0].p50, s.service[0].p99 = time.Millisecond, 3*time.Millisecond
		return s
	}
	return []*series{
		measured("Credit & more", 1, 1000, 900),
		measured("Credit & more", 16, 5200, 6100),
		measured("Credit & more", 64, 0, 0),
		measured("Hot", 16, 700, 600),
	}
}

func TestReportText_HasOneTablePerCommand(t *testing.T) {
	t.Parallel()
	text := reportText("setup\n", twoCommands())
	var columns []int
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "|") {
			columns = append(columns, strings.Count(line, "|"))
		}
	}
	const headingRows, dataRows = 2 * 2, 4
	if len(columns) != headingRows+dataRows || slices.Min(columns) != slices.Max(columns) {
		t.Errorf("columns by row: %v in:\n%s", columns, text)
	}
	if !strings.Contains(text, "| 16 | 5200 | 6100 | **1.17** |") {
		t.Errorf("no row of 16 connections in:\n%s", text)
	}
}

// A command measured at one number of connections has no curve to draw.
func TestDrawAll_DrawsTwoPanelsPerCurve(t *testing.T) {
	t.Parallel()
	image := string(drawAll(twoCommands(), []int{1, 16, 64}))
	if panels := countElements(t, image, "g"); panels != 2 {
		t.Errorf("%d panels, want 2: throughput and latency of the first command", panels)
	}
	for _, invalid := range []string{"NaN", "Inf", "%!"} {
		if strings.Contains(image, invalid) {
			t.Errorf("%s in %s", invalid, image)
		}
	}
}

func TestDrawAll_LeavesOutOtherNumbersOfConnections(t *testing.T) {
	t.Parallel()
	for connections, want := range map[int]int{16: 2, 64: 0} {
		image := string(drawAll(twoCommands()[3:], []int{connections}))
		if panels := countElements(t, image, "g"); panels != want {
			t.Errorf("measured at 16, drawn at %d: %d panels, want %d", connections, panels, want)
		}
	}
}

// countElements counts the elements of a name, and fails the test if the text is not
// well-formed XML.
func countElements(t *testing.T, text, name string) int {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(text))
	n := 0
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return n
		}
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == name {
			n++
		}
	}
}
