package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The scripts do the database work of the service and nothing else: the same reads,
// locks and rows, in one transaction per request with one round trip per statement.
//
//go:embed scripts/*.sql
var scripts embed.FS

func readScript(name string) ([]byte, error) { return scripts.ReadFile("scripts/" + name + ".sql") }

// baseline is one run of pgbench: the database work of a command without the service.
type baseline struct {
	script      string
	connections int
	variables   map[string]string
}

// pgbenchResult is what pgbench reports.
type pgbenchResult struct {
	transactions int64
	rate         float64 // per second, without connecting and without the warm-up
}

// run runs pgbench for the warm-up and the measurement, in whole seconds. The rate
// leaves out the warm-up, because each new connection plans every statement several
// times.
func (b baseline) run(
	ctx context.Context, c *cluster, database string, times timing,
) (pgbenchResult, error) {
	seconds := int((times.warmUp + times.length).Round(time.Second).Seconds())
	return b.pgbench(ctx, c, database, times.warmUp, "-T", strconv.Itoa(seconds), "-P", "1")
}

// runTransactions runs n transactions on one connection.
func (b baseline) runTransactions(ctx context.Context, c *cluster, database string, n int) error {
	b.connections = 1
	_, err := b.pgbench(ctx, c, database, 0, "-t", strconv.Itoa(n))
	return err
}

func (b baseline) pgbench(
	ctx context.Context, c *cluster, database string, warmUp time.Duration, length ...string,
) (pgbenchResult, error) {
	script, err := readScript(b.script)
	if err != nil {
		return pgbenchResult{}, err
	}
	args := append(b.args(), length...)
	cmd := c.Command(ctx, "pgbench", append(args, c.URL(database))...)
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(script), &out, &out
	if err := cmd.Run(); err != nil {
		return pgbenchResult{}, fmt.Errorf("pgbench %s: %w: %s", b.script, err, out.Bytes())
	}
	result, err := parsePgbench(out.String(), warmUp)
	if err != nil {
		return pgbenchResult{}, fmt.Errorf("pgbench %s: %w: %s", b.script, err, out.Bytes())
	}
	return result, nil
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

// parsePgbench parses the report of pgbench and its progress lines. It returns an error
// if a transaction failed.
func parsePgbench(out string, warmUp time.Duration) (pgbenchResult, error) {
	var r pgbenchResult
	var total, early, earlySeconds float64 // early is what happened during the warm-up
	for line := range strings.Lines(out) {
		var at, rate float64
		var failed int64
		switch {
		case scan(line, "progress: %f s, %f tps", &at, &rate) && at < warmUp.Seconds()+0.5:
			early += (at - earlySeconds) * rate
			earlySeconds = at
		case scan(line, "number of transactions actually processed: %d", &r.transactions):
		case scan(line, "number of failed transactions: %d", &failed) && failed > 0:
			return r, fmt.Errorf("%d transactions failed", failed)
		case scan(line, "tps = %f", &total):
		}
	}
	if r.transactions == 0 || total == 0 {
		return r, errors.New("no result")
	}
	elapsed := float64(r.transactions) / total
	r.rate = (float64(r.transactions) - early) / (elapsed - earlySeconds)
	return r, nil
}

// scan reports whether the line begins with the format, and stores its values.
func scan(line, format string, values ...any) bool {
	n, _ := fmt.Sscanf(line, format, values...)
	return n == len(values)
}
