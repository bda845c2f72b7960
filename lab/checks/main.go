// Command checks proves that tests notice: each row in rows/ edits the source, usually to
// remove one protection, and runs a test, which must fail. A build overlay applies the
// edits, so the work tree does not change.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/orders/lab/overlay"
)

const (
	root     = ".."             // the repository, seen from lab/
	parallel = 3                // rows that run at once: they wait as well as compute, on 2 processors
	good     = "good"           // the verdict on a row that ended as it should
	timedOut = "test timed out" // go test prints it about a test that hangs
)

func main() {
	only := flag.String("only", "", "regular expression that selects rows by \"area: name\"")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *only)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "checks:", err)
		os.Exit(1)
	}
}

// run runs the selected rows. It returns an error that names those that the tests did not
// notice.
func run(ctx context.Context, only string) error {
	selected, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	// Without inlining and debug information, code compiles in two thirds of the time. A property
	// test would repeat the recorded failure of an edit in each later run.
	if err := errors.Join(
		os.Setenv("GOFLAGS", os.Getenv("GOFLAGS")+" '-gcflags=example.com/orders/...=-l -dwarf=false'"),
		os.Setenv("RAPID_NOFAILFILE", "true"),
	); err != nil {
		return err
	}
	rows, err := readRows()
	if err != nil {
		return err
	}
	rows = slices.DeleteFunc(rows, func(r *row) bool { return !selected.MatchString(r.String()) })
	if len(rows) == 0 {
		return fmt.Errorf("no row matches %q", only)
	}
	longestFirst(rows)
	sound := passUnedited(ctx, rows)
	var printing sync.Mutex
	each(rows, func(r *row) {
		began := time.Now()
		output := ""
		r.verdict = "FAILS WITHOUT THE EDIT"
		if r.passes || sound(r) {
			r.verdict, output = r.run(ctx)
		}
		r.took = time.Since(began)
		printing.Lock()
		defer printing.Unlock()
		fmt.Printf("%-72s %6.1f s  %s\n%s", r, r.took.Seconds(), r.verdict, output)
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return summarize(rows)
}

// summarize prints a table by area and returns an error that names the bad rows.
func summarize(rows []*row) error {
	count, seconds := map[string][2]int{}, map[string]float64{}
	var bad []error
	for _, r := range rows {
		c := count[r.area]
		c[0]++
		if r.verdict == good {
			c[1]++
		} else {
			bad = append(bad, fmt.Errorf("%s: %s", r, r.verdict))
		}
		count[r.area] = c
		seconds[r.area] += r.took.Seconds()
	}
	fmt.Printf("\n%-14s %5s %5s %8s\n", "area", "rows", good, "seconds")
	for _, area := range slices.Sorted(maps.Keys(count)) {
		fmt.Printf("%-14s %5d %5d %8.1f\n", area, count[area][0], count[area][1], seconds[area])
	}
	fmt.Printf("figures: %d rows, %d good\n", len(rows), len(rows)-len(bad))
	return errors.Join(bad...)
}

// longestFirst sorts by the bound of each row, so that no long one runs alone at the end.
func longestFirst(rows []*row) {
	slices.SortStableFunc(rows, func(a, b *row) int { return cmp.Compare(b.within, a.within) })
}

// each calls do for every item, in parallel.
func each[T any](items []T, do func(T)) {
	var group errgroup.Group
	group.SetLimit(parallel)
	for _, item := range items {
		group.Go(func() error { do(item); return nil })
	}
	_ = group.Wait() // the functions return no error
}

// passUnedited runs all tests without edits, once per package, and returns whether a row's
// tests passed. A test that always fails would notice everything.
func passUnedited(ctx context.Context, rows []*row) func(*row) bool {
	together := map[string]*row{}
	var places []string
	for _, r := range rows {
		if t := together[r.place()]; t != nil {
			t.test += "|" + strings.Join(r.tests(), "|")
		} else if !r.passes {
			together[r.place()] = &row{pkg: r.pkg, test: strings.Join(r.tests(), "|"), flags: r.flags, within: 45 * time.Minute}
			places = append(places, r.place())
		}
	}
	var outputs sync.Map
	each(places, func(place string) {
		began := time.Now()
		output, err := together[place].goTest(ctx, os.Environ())
		outputs.Store(place, output)
		fmt.Printf("without edits: %-57.57s %6.1f s\n", place, time.Since(began).Seconds())
		if err != nil {
			fmt.Print(output)
		}
	})
	return func(r *row) bool {
		output, _ := outputs.Load(r.place())
		return !slices.ContainsFunc(r.tests(), func(name string) bool {
			return !strings.Contains(fmt.Sprint(output), "--- PASS: "+name+" (")
		})
	}
}

// run tests the edited source.
func (r *row) run(ctx context.Context) (verdict, output string) {
	dir, err := os.MkdirTemp("", "checks-")
	if err != nil {
		return "DOES NOT RUN", err.Error()
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the system cleans temporary folders
	description, err := overlay.Write(dir, r.edits...)
	if err != nil {
		return "DOES NOT RUN", err.Error()
	}
	var flags []string
	if r.prints == "" {
		flags = []string{"-failfast"} // one failure is enough, unless it must print a text
	}
	output, err = r.goTest(ctx, overlay.Environ(description), flags...)
	verdict = r.judge(output, err)
	if err == nil || verdict == good {
		output = r.printed(output)
	}
	return verdict, output
}

// judge returns the verdict on a run of the tests. A failure counts only if a test failed:
// an edit that does not compile proves no protection, a data race is a separate matter,
// and a test that ran out of time has noticed a defect only if the row expects it to hang.
func (r *row) judge(output string, err error) string {
	failed := strings.Contains(output, "--- FAIL: ") || strings.Contains(output, "panic: ")
	switch {
	case err == nil && !r.passes:
		return "NOT NOTICED"
	case err == nil:
		return good
	case strings.Contains(output, "panic: "+timedOut) && r.prints != timedOut:
		return "TIMED OUT"
	case r.passes:
		return "FAILED"
	case !failed || strings.Contains(output, "DATA RACE"):
		return "DOES NOT RUN"
	case !strings.Contains(output, r.prints):
		return "FAILED WITH OTHER WORDS"
	}
	return good
}

// printed returns the line with the text that a failure must print.
func (r *row) printed(output string) string {
	for line := range strings.Lines(output) {
		if r.prints != "" && strings.Contains(line, r.prints) {
			return line
		}
	}
	return ""
}

// goTest runs the tests of the row and returns their output.
func (r *row) goTest(ctx context.Context, environ []string, flags ...string) (output string, err error) {
	names := "^(" + strings.ReplaceAll(r.test, "/", ")$/^(") + ")$"
	if r.test == "" {
		names = "."
	}
	// Like make test: 4 tests in parallel even on fewer processors.
	args := []string{"test", "-vet=off", "-count=1", "-v", "-parallel=4", "-timeout=" + r.within.String(), "-run=" + names, "."}
	cmd := exec.CommandContext(ctx, "go", slices.Concat(args, r.flags, flags)...)
	// Compilers end before they need to collect garbage, which takes a quarter of their time.
	cmd.Dir = filepath.Join(root, r.pkg)
	cmd.Env = slices.Concat(environ, []string{"GOGC=off", "GOMEMLIMIT=2GiB"})
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // so that go test ends the test
	printed, err := cmd.CombinedOutput()
	return string(printed), err
}
