package step

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	pgtest "example.com/orders/internal/test/pg"
)

// With one processor, goroutines that become ready together run in the same order each time.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(1600) // little memory lives
	pgtest.Main(m)
}

var (
	seeds     = flag.Int("seeds", 50, "number of runs")
	first     = flag.Uint64("seed", 1, "seed of the first run")
	dealt     = flag.Bool("dealt", false, "read the seeds from standard input")
	processes = flag.Int("processes", 1, "number of processes, each with a cluster, that share the seeds")
)

// Each seed is a handful of commands about the same rows, and an order of everything that
// happens to them. A failed run prints a short one and its diagram.
func TestRuns_BreakNoRule(t *testing.T) {
	if *processes > 1 {
		runProcesses(t)
		return
	}
	w := newWorld(t)
	began, runs, steps := time.Now(), 0, 0
	for seed := range seedsOf(t) {
		p, r := w.run(t, seed)
		runs++
		steps += len(r.taken)
		if len(r.found) > 0 {
			short := r
			if !testing.Short() {
				short = w.shrink(t, p, r)
			}
			t.Fatalf("seed %d, the run %d, breaks a rule; `make -C lab step SEED=%d` repeats it:\n%s\n%s\n%s", seed, runs, seed,
				strings.Join(short.found, "\n"), short.trace(), short.diagram())
		}
		if *seeds == 1 {
			fmt.Print(r.trace())
		}
	}
	t.Logf("%d runs, %d pairs and triples, %d steps, groups by size %v, %.1f runs a second", runs, len(w.met), steps, w.groups,
		float64(runs)/time.Since(began).Seconds())
}

// seedsOf returns the seeds of this process.
func seedsOf(t *testing.T) iter.Seq[uint64] {
	t.Helper()
	return func(yield func(uint64) bool) {
		for *dealt {
			var seed uint64
			err := binary.Read(os.Stdin, binary.NativeEndian, &seed)
			if err != nil && !errors.Is(err, io.EOF) {
				t.Fatal(err) // the seeds that are left would be counted, and not run
			}
			if err != nil || !yield(seed) {
				return
			}
		}
		for i := range uint64(*seeds) {
			if !yield(*first + i) {
				return
			}
		}
	}
}

// runProcesses deals the seeds out to processes, because one has one processor, and would
// see the transactions of another one on its server. A process and its server take turns, so
// they share a processor: to wake one that sleeps takes as long as a statement. Each process
// takes its next seed from one pipe, because processors are not equally fast. The first
// process that fails ends the others.
func runProcesses(t *testing.T) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close() //nolint:errcheck // nothing is written to it
	met, began := map[string]bool{}, time.Now()
	group, ctx := errgroup.WithContext(t.Context())
	context.AfterFunc(ctx, func() { _ = writer.Close() })
	group.Go(func() error {
		for seed := range seedsOf(t) {
			p, _ := newPlan(seed)
			met[p.meeting] = true
			if err := binary.Write(writer, binary.NativeEndian, seed); err != nil {
				return err
			}
		}
		return writer.Close()
	})
	for i := range *processes {
		group.Go(func() error {
			process := exec.CommandContext(ctx, "taskset", "-c", fmt.Sprint(i%runtime.NumCPU()), "../../bin/testcluster", program,
				"-test.v", "-test.run=^TestRuns_BreakNoRule$", fmt.Sprint("-test.short=", testing.Short()), "-dealt")
			process.Stdin = reader
			process.Cancel = func() error { return process.Process.Signal(syscall.SIGTERM) } // it stops its cluster
			out, err := process.CombinedOutput()
			if ctx.Err() == nil {
				t.Logf("process %d:\n%s", i, out)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("figures: %d runs, %d pairs and triples, %.1f runs a second", *seeds, len(met), float64(*seeds)/time.Since(began).Seconds())
}

// The clock of the database is real, and runs may last for a night.
func TestWorld_LosesNoReservationAtNight(t *testing.T) {
	lost, err := newWorld(t).server.Query(`SELECT id FROM origin.orders WHERE reserved_until BETWEEN now() AND now() + interval '8 hours'`)
	if err != nil || len(lost) > 0 {
		t.Errorf("lost at night: orders %v, %v", lost, err)
	}
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
