package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// report writes what was measured.
func (b *bench) report(ctx context.Context, s *site, all []*series, out io.Writer) error {
	machine, err := b.machine(ctx, s)
	if err != nil {
		return err
	}
	text := textOf(machine, all)
	if b.svg != "" {
		text += fmt.Sprintf("\n![Throughput and latency over connections](%s)\n", filepath.Base(b.svg))
	}
	if err := b.publish(out, text); err != nil {
		return err
	}
	if b.svg == "" {
		return nil
	}
	return os.WriteFile(b.svg, drawAll(all, b.connections), 0o644)
}

// publish writes a report to out, and into the file that was asked for.
func (b *bench) publish(out io.Writer, text string) error {
	if _, err := io.WriteString(out, text); err != nil || b.md == "" {
		return err
	}
	return os.WriteFile(b.md, []byte(text), 0o644)
}

// machine tells where and when figures were measured.
func (b *bench) machine(ctx context.Context, s *site) (string, error) {
	sync, err := syncTime(b.cluster.dir)
	if err != nil {
		return "", err
	}
	var version string
	if err := s.db.QueryRow(ctx, `SHOW server_version`).Scan(&version); err != nil {
		return "", err
	}
	version, _, _ = strings.Cut(version, " ")
	return fmt.Sprintf("%s: %d cores shared by load, service and PostgreSQL %s with its defaults but for %s "+
		"(the disk makes a page durable in %.2f ms); %s; pool of %d connections; %d × %v each.",
		time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), version, settingsText(), milliseconds(sync),
		runtime.Version(), b.pool, b.rounds, b.length), nil
}

func settingsText() string {
	var settings []string
	for _, name := range slices.Sorted(maps.Keys(saneSettings)) {
		settings = append(settings, name+" = "+saneSettings[name])
	}
	return strings.Join(settings, ", ")
}

const preface = `# Benchmark

%s

The limit is pgbench (prepared statements, a statement a round trip, a transaction a
request) with scripts that read, lock and write what the service does: the same rows,
events and stored answers included. Both took turns on one durable cluster. The service
ran as ` + "`orders serve`" + ` does: tokens, guard, events, jobs and log on. Every request had a
key of its own, and every one succeeded.

The ratio is the median of the ratios turn by turn; all other figures are medians, too.
CPU is in seconds for 1 000 requests; the log is what PostgreSQL made durable for one.
`

func textOf(machine string, all []*series) string {
	out := &strings.Builder{}
	fmt.Fprintf(out, preface, machine)
	name := ""
	for _, r := range all {
		if r.command.name != name {
			name = r.command.name
			fmt.Fprintf(out, "\n## %s\n\n%s; %d round trips a request\n\n", name, capital(r.command.about), r.trips)
			fmt.Fprintln(out, "| connections | limit /s | service /s | ratio | p50 ms | p99 ms | p99 ÷ p50 "+
				"| CPU: service | PostgreSQL | … of the limit | load | log, bytes | … of the limit | memory, MiB |")
			fmt.Fprintln(out, "|"+strings.Repeat("---:|", 14))
		}
		fmt.Fprintln(out, r.row())
	}
	return out.String()
}

func (r *series) row() string {
	p50 := of(r.service, func(c cell) float64 { return milliseconds(c.p50) })
	p99 := of(r.service, func(c cell) float64 { return milliseconds(c.p99) })
	return fmt.Sprintf("| %d | %.0f | %.0f | **%.2f** | %.2f | %.2f | %.1f | %.3f | %.3f | %.3f | %.3f | %.0f | %.0f | %.0f |",
		r.connections, of(r.limit, rateOf), of(r.service, rateOf), r.ratio(), p50, p99, p99/p50,
		of(r.service, func(c cell) float64 { return c.cpuService }), of(r.service, func(c cell) float64 { return c.cpuPostgres }),
		of(r.limit, func(c cell) float64 { return c.cpuPostgres }), of(r.service, func(c cell) float64 { return c.cpuLoad }),
		of(r.service, func(c cell) float64 { return c.wal }), of(r.limit, func(c cell) float64 { return c.wal }),
		of(r.service, func(c cell) float64 { return float64(c.memory) / (1 << 20) }))
}

func rateOf(c cell) float64 { return c.rate }

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
