package bench

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
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
	script      string
	connections int
	variables   map[string]string
}

// pgbenchResult is the pgbench report, less connecting and the warm-up: each
// new connection plans every statement several times.
type pgbenchResult struct {
	transactions int64
	rate         float64 // per second
}

// run runs pgbench for the warm-up and the measurement, in whole seconds. It calls mark
// when the warm-up ends, if there is one.
func (b baseline) run(t *target, times timing, mark func() error) pgbenchResult {
	// The pgbench duration includes the time to connect.
	connecting := time.Duration(b.connections/100) * time.Second
	seconds := int((connecting + times.warmUp + times.length).Round(time.Second).Seconds())
	out := &pgbenchOutput{warmUp: times.warmUp}
	if times.warmUp > 0 {
		out.mark = mark
	}
	return b.pgbench(t, out, "-T", strconv.Itoa(seconds), "-P", "1")
}

// runTransactions runs n transactions on one connection.
func (b baseline) runTransactions(t *target, n int) {
	b.connections = 1
	b.pgbench(t, &pgbenchOutput{}, "-t", strconv.Itoa(n))
}

func (b baseline) pgbench(t *target, out *pgbenchOutput, length ...string) pgbenchResult {
	script, err := readScript(b.script)
	if err != nil {
		t.t.Fatal(err)
	}
	cmd := t.cluster.Command(t.t.Context(), "pgbench", slices.Concat(b.args(), length, []string{t.DatabaseURL})...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(script), out, out
	if err := cmd.Run(); err != nil {
		t.t.Fatalf("pgbench %s: %v: %s", b.script, err, &out.text)
	}
	result, err := parsePgbench(out.text.String(), out.warmUp)
	if err == nil && out.mark != nil {
		err = errors.New("it ended during the warm-up")
	}
	if err != nil {
		t.t.Fatalf("pgbench %s: %v: %s", b.script, err, &out.text)
	}
	return result
}

// pgbenchOutput collects the pgbench output, and calls mark when the warm-up has ended.
type pgbenchOutput struct {
	text   bytes.Buffer
	warmUp time.Duration
	mark   func() error // nil after the call
}

func (o *pgbenchOutput) Write(text []byte) (int, error) {
	for line := range bytes.Lines(text) {
		var at float64
		if o.mark == nil || !scan(string(line), "progress: %f s", &at) || isWarmUp(at+1, o.warmUp) {
			continue
		}
		if err := o.mark(); err != nil {
			return 0, err
		}
		o.mark = nil
	}
	return o.text.Write(text)
}

// isWarmUp reports whether the second that ends at this time belongs to the warm-up.
// pgbench reports progress once a second, though not on the second.
func isWarmUp(at float64, warmUp time.Duration) bool {
	return warmUp > 0 && at < warmUp.Seconds()+0.5
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
		case scan(line, "progress: %f s, %f tps", &at, &rate) && isWarmUp(at, warmUp):
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
