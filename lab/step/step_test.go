package step

import (
	"flag"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	pgtest "example.com/orders/internal/test/pg"
)

// With one processor, goroutines that become ready together run in the same order each time.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	pgtest.Main(m)
}

var (
	seeds = flag.Int("seeds", 50, "number of runs")
	first = flag.Uint64("seed", 1, "seed of the first run")
)

// Each seed is a handful of commands about the same rows, and an order of everything that
// happens to them. A failed run prints a short one and its diagram.
func TestRuns_BreakNoRule(t *testing.T) {
	w := newWorld(t)
	began, steps := time.Now(), 0
	for seed := *first; seed < *first+uint64(*seeds); seed++ {
		p, r := w.run(t, seed)
		steps += len(r.taken)
		if len(r.found) > 0 {
			short := r
			if !testing.Short() {
				short = w.shrink(t, p, r)
			}
			t.Fatalf("seed %d, the run %d, breaks a rule; `make -C lab step SEED=%d` repeats it:\n%s\n%s\n%s", seed, seed-*first+1, seed,
				strings.Join(short.found, "\n"), short.trace(), short.diagram())
		}
		if *seeds == 1 {
			fmt.Print(r.trace())
		}
	}
	t.Logf("%d runs, %d pairs and triples, %d steps, groups by size %v, %.1f runs a second", *seeds, len(w.met), steps, w.groups,
		float64(*seeds)/time.Since(began).Seconds())
}

// A seed decides every message: the clock is the test's, and random pauses end within one
// step of it.
func TestRuns_AreRepeatable(t *testing.T) {
	w := newWorld(t)
	for seed := *first; seed < *first+3; seed++ {
		var trace string
		for i := range 10 {
			_, r := w.run(t, seed)
			if i > 0 && r.trace() != trace {
				t.Errorf("seed %d has two runs:\n%s\n%s", seed, trace, r.trace())
			}
			trace = r.trace()
		}
	}
}
