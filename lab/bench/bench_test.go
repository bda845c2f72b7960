package bench

import (
	"flag"
	"testing"

	pgtest "example.com/orders/internal/test/pg"
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

// The benchmark stops if a script and the service do different work. This test fails
// when a query changes.
func TestProbes_FindTheSameWork(t *testing.T) {
	b := newBench(t, given)
	b.probeAll(b.newTarget(pgtest.NewOn(t, b.cluster)), commands())
}
