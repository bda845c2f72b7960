package run

import (
	"flag"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	pgtest "example.com/orders/internal/test/pg"
	"example.com/orders/lab/faults/faults"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var (
	fault = flag.String("fault", "", "the only fault; default all of the short form")
	seed  = flag.Uint64("seed", uint64(time.Now().UnixNano()), "the seed of the first run; default another one each time")
	seeds = flag.Int("seeds", 0, "run this many seeds of each fault, also of those outside the short form")
	share = flag.Bool("grouped", false, "make commands share transactions even under a light load")
	plan  = flag.String("plan", "", "the only plan, as a failed run prints it")
)

// TestFaults runs the short form, or a number of seeds of each fault, or of one.
func TestFaults(t *testing.T) {
	t.Parallel()
	if *plan != "" {
		t.Skip("another test was asked for")
	}
	if _, known := faults.ByName(*fault); *fault != "" && !known {
		t.Fatalf("there is no fault %q", *fault)
	}
	if *fault == "" && *seeds == 0 {
		runShortForm(t)
		return
	}
	var runs, requests atomic.Int64
	t.Cleanup(func() {
		t.Logf("figures: %d seeds of each fault, %d runs, %d requests", *seeds, runs.Load(), requests.Load())
	})
	for _, f := range faults.All {
		if *fault != "" && f.Name != *fault {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			for i := range max(*seeds, 1) {
				n := *seed + uint64(i)
				p := PlanOf(f, n)
				p.Grouped = *share
				t.Run(fmt.Sprint(n), func(t *testing.T) {
					requests.Add(int64(p.Run(t)))
					runs.Add(1)
				})
			}
		})
	}
}

func runShortForm(t *testing.T) {
	t.Helper()
	for i, p := range ShortPlans(*seed) {
		t.Run(fmt.Sprintf("short form, part %d", i+1), func(t *testing.T) {
			t.Parallel()
			p.Grouped = p.Grouped || *share
			p.Run(t)
		})
	}
}

// TestPlan runs one plan.
func TestPlan(t *testing.T) {
	if *plan == "" {
		t.Skip("no plan")
	}
	p, err := ParsePlan(*plan)
	if err != nil {
		t.Fatal(err)
	}
	p.Run(t)
}
