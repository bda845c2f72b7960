package bench

import (
	"flag"
	"testing"
)

var (
	measure = flag.Bool("measure", false, "measure, which takes many minutes")
	given   options
)

func init() { given.define(flag.CommandLine) }

// start prepares a measurement, or skips the test.
func start(t *testing.T) *bench {
	t.Helper()
	if !*measure {
		t.Skip("use -measure: make -C lab bench, or bench-growth")
	}
	return newBench(t, given)
}

func TestComparison(t *testing.T) { start(t).compare() }

func TestGrowth(t *testing.T) { start(t).growth() }
