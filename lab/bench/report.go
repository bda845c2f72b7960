package bench

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

const setupText = `Measured on %s with ` + "`go test ./bench %s`" + `:

- %d CPU cores, shared by the load generator, the service and PostgreSQL
- PostgreSQL %s with default settings, except
  %s
- %.2f ms to write one page durably (median)
- %s; connection pool of the service: %d
- rounds: %d; length of each measurement: %v
`

// setup describes the machine, the programs and the measurement.
func (b *bench) setup(t *target) string {
	var version string
	if err := t.DB.QueryRow(b.t.Context(), `SHOW server_version`).Scan(&version); err != nil {
		b.t.Fatal(err)
	}
	version, _, _ = strings.Cut(version, " ")
	given := slices.DeleteFunc(os.Args[1:], func(arg string) bool { return strings.HasPrefix(arg, "-test.") })
	return fmt.Sprintf(setupText, time.Now().UTC().Format(time.DateOnly),
		strings.Join(given, " "), runtime.NumCPU(), version, settingsText(), milliseconds(b.syncTime()),
		runtime.Version(), b.pool, b.rounds, b.length)
}

// syncTime returns the median time to write one page durably. It bounds a single
// connection's rate.
func (b *bench) syncTime() time.Duration {
	file, err := os.CreateTemp(b.workDir, "sync-")
	if err != nil {
		b.t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // its content is not needed
	times := make([]time.Duration, 100)
	page := make([]byte, 8<<10)
	for i := range times {
		start := time.Now()
		_, err := file.WriteAt(page, 0)
		if err := errors.Join(err, file.Sync()); err != nil {
			b.t.Fatal(err)
		}
		times[i] = time.Since(start)
	}
	slices.Sort(times)
	return quantile(times, 0.5)
}

func settingsText() string {
	var settings []string
	for _, name := range slices.Sorted(maps.Keys(durableSettings)) {
		settings = append(settings, name+" = "+durableSettings[name])
	}
	return strings.Join(settings, ", ")
}

const comparisonText = `# Benchmark

%s
The baseline is pgbench. Its scripts do the database work of the service: the same
reads, locks and rows, including events and stored responses. pgbench uses prepared
statements, one round trip per statement and one transaction per request. A replay is
compared with a bare net/http server instead, the limit for everything in Go that answers
over HTTP. It remembers verified tokens, reads the body and sends the same response.

The service runs as ` + "`orders serve`" + ` with everything enabled: authentication,
idempotency guard, events, jobs and logging. Every request has its own key, except
retries. Every request succeeded.

Service and baseline alternate on one durable PostgreSQL cluster. The columns:

- **ratio**: service ÷ baseline, the median of the ratios of the rounds. All other
  figures are medians too.
- **p50**, **p99**: latency of the service. pgbench reports neither.
- **CPU**: seconds of CPU time per 1 000 requests. *Baseline* is that of the bare server or
  of PostgreSQL while the baseline ran, the others were measured while the service ran.
- **WAL**: write-ahead log of PostgreSQL per request. *Baseline* is that of pgbench.
- **memory**: peak resident memory of the service.
`

const comparisonHeader = "| connections | baseline, req/s | service, req/s | ratio " +
	"| p50, ms | p99, ms | p99 ÷ p50 | p99 ÷ p50, bare server | CPU: service | CPU: PostgreSQL " +
	"| CPU: baseline | CPU: load generator | WAL, bytes | WAL, bytes, baseline " +
	"| memory, MiB |\n"

func reportText(setup string, all []*series) string {
	out := &strings.Builder{}
	fmt.Fprintf(out, comparisonText, setup)
	name := ""
	for _, s := range all {
		if s.command.name != name {
			name = s.command.name
			fmt.Fprintf(out, "\n## %s\n\n%s. Round trips to PostgreSQL per request: %d.\n\n",
				name, s.command.description, s.probe.trips)
			fmt.Fprint(out, comparisonHeader, "|", strings.Repeat("---:|", 15), "\n")
		}
		fmt.Fprintln(out, s.row())
	}
	return out.String()
}

func (s *series) row() string {
	return fmt.Sprintf("| %d | %.0f | %.0f | **%.2f** | %.2f | %.2f | %.1f | %s "+
		"| %.3f | %.3f | %.3f | %.3f | %.0f | %.0f | %.0f |",
		s.connections, medianOf(s.baseline, rateOf), medianOf(s.service, rateOf), s.ratio(),
		medianOf(s.service, p50Of), medianOf(s.service, p99Of), medianOf(s.service, tailOf), s.tailBare(),
		medianOf(s.service, cpuServiceOf), medianOf(s.service, cpuPostgresOf), s.cpuBaseline(),
		medianOf(s.service, func(s sample) float64 { return s.cpuLoad }),
		medianOf(s.service, walOf), medianOf(s.baseline, walOf),
		medianOf(s.service, func(s sample) float64 { return float64(s.memory) / (1 << 20) }))
}

// tailBare returns the bare server's tail, or nothing for pgbench.
func (s *series) tailBare() string {
	if s.command.script != "" {
		return ""
	}
	return fmt.Sprintf("%.1f", medianOf(s.baseline, tailOf))
}

// cpuBaseline returns the CPU time of the bare server, or of PostgreSQL for pgbench.
func (s *series) cpuBaseline() float64 {
	if s.command.script == "" {
		return medianOf(s.baseline, cpuServiceOf)
	}
	return medianOf(s.baseline, cpuPostgresOf)
}

func rateOf(s sample) float64        { return s.rate }
func p50Of(s sample) float64         { return milliseconds(s.p50) }
func p99Of(s sample) float64         { return milliseconds(s.p99) }
func tailOf(s sample) float64        { return p99Of(s) / p50Of(s) }
func cpuServiceOf(s sample) float64  { return s.cpuService }
func cpuPostgresOf(s sample) float64 { return s.cpuPostgres }
func walOf(s sample) float64         { return s.wal }

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
