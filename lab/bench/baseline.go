package bench

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"maps"
	"math"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// The scripts do only the database work of the service: the same reads, locks and rows, in
// one transaction per request with one round trip per statement.
//
//go:embed scripts/*.sql
var scripts embed.FS

func readScript(name string) ([]byte, error) { return scripts.ReadFile("scripts/" + name + ".sql") }

// baseline is one pgbench run: only the database work of a command.
type baseline struct {
	name        string
	script      []byte
	connections int
	variables   map[string]string
}

// pgbenchResult is the pgbench report, less connecting and the warm-up: each
// new connection plans every statement several times.
type pgbenchResult struct {
	transactions int64
	rate         float64 // per second
}

// connectTimeout bounds how long the clients may take to connect. It is far beyond what slow
// machines need.
const connectTimeout = 10 * time.Minute

// run runs pgbench for the warm-up and the measurement, in whole seconds from the moment when
// all clients are connected. It calls mark when the warm-up ends, if there is one.
func (b baseline) run(t *target, times timing, mark func() error) pgbenchResult {
	// The pgbench duration includes the time to connect, so the output ends the run.
	bound := connectTimeout + times.warmUp + times.length
	out := &pgbenchOutput{timing: times, connected: make(chan struct{})}
	if times.warmUp > 0 {
		out.mark = mark
	}
	return b.pgbench(t, out, "-T", strconv.Itoa(int(bound.Round(time.Second).Seconds())), "-P", "1")
}

// runTransactions runs n transactions on one connection.
func (b baseline) runTransactions(t *target, n int) {
	b.connections = 1
	b.pgbench(t, &pgbenchOutput{}, "-t", strconv.Itoa(n))
}

func (b baseline) pgbench(t *target, out *pgbenchOutput, length ...string) pgbenchResult {
	cmd := t.cluster.Command(t.t.Context(), "pgbench", slices.Concat(b.args(), length, []string{t.DatabaseURL})...)
	cmd.Stdin = bytes.NewReader(b.script)
	err := out.collect(cmd, connectTimeout, func() string { return fmt.Sprintf("%d of %d", t.pgbenchClients(), b.connections) })
	if err != nil {
		t.t.Fatalf("pgbench %s: %v: %s", b.name, err, &out.text)
	}
	result, err := parsePgbench(out.text.String(), out.warmUp)
	if err == nil && out.mark != nil {
		err = errors.New("it ended during the warm-up")
	}
	if err != nil {
		t.t.Fatalf("pgbench %s: %v: %s", b.name, err, &out.text)
	}
	return result
}

// pgbenchOutput collects the pgbench output. It calls mark when the warm-up has ended, and end
// after the measurement.
type pgbenchOutput struct {
	timing
	text      bytes.Buffer
	connected chan struct{} // closed by the first progress: pgbench counts from the last connection
	begun     sync.Once
	mark, end func() error // nil after the call
}

// collect runs pgbench until it ends, or until not all clients are connected in time. clients
// says how many are.
func (o *pgbenchOutput) collect(cmd *exec.Cmd, timeout time.Duration, clients func() string) error {
	cmd.Stdout, cmd.Stderr = o, o
	if o.connected == nil {
		return cmd.Run()
	}
	o.end = func() error { return cmd.Process.Signal(syscall.SIGALRM) } // as the timer of -T does
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-o.connected:
		return <-ended
	case <-time.After(timeout):
		missing := fmt.Errorf("after %v, %s clients are connected", timeout, clients())
		return errors.Join(missing, cmd.Process.Kill(), <-ended)
	}
}

// Write implements [io.Writer]. pgbench writes whole lines.
func (o *pgbenchOutput) Write(text []byte) (int, error) {
	for line := range bytes.Lines(text) {
		var at float64
		if scan(string(line), "progress: %f s", &at) {
			if err := o.progress(at); err != nil {
				return 0, err
			}
		}
	}
	return o.text.Write(text)
}

// progress is called with the seconds since all clients are connected.
func (o *pgbenchOutput) progress(at float64) error {
	o.begun.Do(func() { close(o.connected) })
	if o.mark != nil && !isWithin(at+1, o.warmUp) {
		if err := o.mark(); err != nil {
			return err
		}
		o.mark = nil
	}
	if o.end != nil && !isWithin(at+1, o.warmUp+o.length) {
		if err := o.end(); err != nil {
			return err
		}
		o.end = nil
	}
	return nil
}

// isWithin reports whether the second that ends at this time belongs to the beginning of a
// run. pgbench reports progress once a second, though not on the second.
func isWithin(at float64, beginning time.Duration) bool {
	return beginning > 0 && at < beginning.Seconds()+0.5
}

func (b baseline) args() []string {
	args := []string{
		"-M", "prepared", "-n", "-f", "-",
		"-c", strconv.Itoa(b.connections), "-j", strconv.Itoa(min(b.connections, runtime.NumCPU())),
	}
	for _, name := range slices.Sorted(maps.Keys(b.variables)) {
		args = append(args, "-D", name+"="+b.variables[name])
	}
	return args
}

// parsePgbench parses the report and the progress lines of pgbench. It returns an error if a
// transaction failed.
func parsePgbench(out string, warmUp time.Duration) (pgbenchResult, error) {
	var r pgbenchResult
	var all, total, early, earlySeconds float64 // early counts the warm-up
	for line := range strings.Lines(out) {
		var at, rate float64
		var failed int64
		switch {
		case scan(line, "progress: %f s, %f tps", &at, &rate) && isWithin(at, warmUp):
			early += (at - earlySeconds) * rate
			earlySeconds = at
		case scan(line, "number of transactions actually processed: %f", &all):
		case scan(line, "number of failed transactions: %d", &failed) && failed > 0:
			return r, fmt.Errorf("%d transactions failed", failed)
		case scan(line, "tps = %f", &total):
		}
	}
	r.transactions = int64(math.Round(all - early))
	if r.transactions <= 0 || total == 0 {
		return r, errors.New("no result")
	}
	r.rate = (all - early) / (all/total - earlySeconds)
	return r, nil
}

// scan reports whether the line begins with the format, and stores its values.
func scan(line, format string, values ...any) bool {
	n, _ := fmt.Sscanf(line, format, values...)
	return n == len(values)
}
