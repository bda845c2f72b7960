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

// The scripts do what the service does, and nothing else: one transaction a request, a
// statement a round trip, the same reads and locks, the same rows.
//
//go:embed scripts/*.sql
var scripts embed.FS

// limit is one run of pgbench: what PostgreSQL can do when nothing stands before it.
type limit struct {
	script      string
	connections int
	variables   map[string]string
}

// limitResult is what pgbench tells.
type limitResult struct {
	transactions int64
	rate         float64 // without the time to connect, and without the first seconds
}

// run runs pgbench for warm and length, in whole seconds. The rate is that after warm:
// each new connection plans every statement several times.
func (l limit) run(ctx context.Context, c *cluster, database string, warm, length time.Duration) (limitResult, time.Duration, error) {
	seconds := int((warm + length).Round(time.Second).Seconds())
	return l.pgbench(ctx, c, database, warm, "-T", strconv.Itoa(seconds), "-P", "1")
}

// count runs a number of transactions on one connection.
func (l limit) count(ctx context.Context, c *cluster, database string, transactions int) error {
	l.connections = 1
	_, _, err := l.pgbench(ctx, c, database, 0, "-t", strconv.Itoa(transactions))
	return err
}

// pgbench also gives the CPU time that it took itself.
func (l limit) pgbench(ctx context.Context, c *cluster, database string, warm time.Duration, how ...string) (limitResult, time.Duration, error) {
	script, err := scripts.ReadFile("scripts/" + l.script + ".sql")
	if err != nil {
		return limitResult{}, 0, err
	}
	args := append([]string{
		"-M", "prepared", "-n", "-f", "-",
		"-c", strconv.Itoa(l.connections), "-j", strconv.Itoa(min(l.connections, runtime.NumCPU())),
	}, how...)
	for _, name := range slices.Sorted(maps.Keys(l.variables)) {
		args = append(args, "-D", name+"="+l.variables[name])
	}
	cmd := c.Command(ctx, "pgbench", append(args, c.URL(database))...)
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(script), &out, &out
	if err := cmd.Run(); err != nil {
		return limitResult{}, 0, fmt.Errorf("pgbench %s: %w: %s", l.script, err, out.Bytes())
	}
	result, err := parsePgbench(out.String(), warm)
	if err != nil {
		return limitResult{}, 0, fmt.Errorf("pgbench %s: %w: %s", l.script, err, out.Bytes())
	}
	return result, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// parsePgbench reads the report of pgbench and its lines of progress. It refuses a run
// in which a transaction failed.
func parsePgbench(out string, warm time.Duration) (limitResult, error) {
	var r limitResult
	var total, early, earlySeconds float64
	for line := range strings.Lines(out) {
		var at, rate float64
		var failed int64
		switch {
		case scan(line, "progress: %f s, %f tps", &at, &rate) && at < warm.Seconds()+0.5:
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

// scan reads a line that begins like this.
func scan(line, format string, into ...any) bool {
	n, _ := fmt.Sscanf(line, format, into...)
	return n == len(into)
}
