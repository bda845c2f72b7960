package faults

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var (
	fault   = flag.String("fault", "", "the only fault; default all of the short form")
	seed    = flag.Uint64("seed", uint64(time.Now().UnixNano()), "the seed of the first run; default another one each time")
	seeds   = flag.Int("seeds", 0, "run this many seeds of each fault, also of those outside the short form")
	grouped = flag.Bool("grouped", false, "make commands share transactions even under a light load")
	plan    = flag.String("plan", "", "the only plan, as a failed run prints it")
	hours   = flag.Float64("hours", 0, "search for a plan that fails, for so long")
)

// TestFaults runs the short form, or a number of seeds of each fault, or of one.
func TestFaults(t *testing.T) {
	t.Parallel()
	if *plan != "" || *hours > 0 {
		t.Skip("another test was asked for")
	}
	if _, known := ByName(*fault); *fault != "" && !known {
		t.Fatalf("there is no fault %q", *fault)
	}
	if *fault == "" && *seeds == 0 {
		runShortForm(t)
		return
	}
	for _, f := range All {
		if *fault != "" && f.Name != *fault {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			for i := range max(*seeds, 1) {
				n := *seed + uint64(i)
				p := PlanOf(f, n)
				p.Grouped = *grouped
				t.Run(fmt.Sprint(n), func(t *testing.T) { Run(t, p) })
			}
		})
	}
}

func runShortForm(t *testing.T) {
	t.Helper()
	for i, p := range ShortPlans(*seed) {
		t.Run(fmt.Sprintf("short form, part %d", i+1), func(t *testing.T) {
			t.Parallel()
			p.Grouped = p.Grouped || *grouped
			Run(t, p)
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
	Run(t, p)
}

// TestSearch draws plans in which different faults strike, each in a process of its own,
// until the time is over or one fails. It shrinks that plan, and prints the short one.
func TestSearch(t *testing.T) {
	if *hours == 0 {
		t.Skip("no time")
	}
	end := time.Now().Add(time.Duration(*hours * float64(time.Hour)))
	for n := *seed; time.Now().Before(end); n++ {
		p := MixedPlan(n)
		p.Grouped = p.Grouped || *grouped
		output, err := runPlan(t.Context(), p)
		if err == nil {
			t.Logf("passed: %s", p)
			continue
		}
		t.Errorf("failed: %s\n%s", p, output)
		shortest := Shrink(p, func(p Plan) bool {
			_, err := runPlan(t.Context(), p)
			return err != nil
		})
		t.Fatalf("the shortest plan that fails, too:\nmake faults PLAN='%s'", shortest)
	}
}

// runPlan runs a plan in a process of its own, and returns what it prints.
func runPlan(ctx context.Context, p Plan) (output string, err error) {
	run := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestPlan$", "-test.v", "-test.timeout=10m", "-plan="+p.String())
	printed, err := run.CombinedOutput()
	return string(printed), cmp.Or(err, ctx.Err())
}
