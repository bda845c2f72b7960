package bench

import (
	"fmt"
	"math"
	"strings"
)

// startRival starts the other build that the -compare flag names. It receives the same
// requests, on the same database, in the same rounds. Like the service, it keeps
// running while others are measured.
func (b *bench) startRival(t *target) {
	if b.other == "" {
		return
	}
	other := *t
	other.service = b.startService(t, b.other, t.ServiceURL(b.t), b.pool)
	other.answerStormOnce()
	b.rival = &other
}

const rivalText = `
## Compared with another build

The other build of the service ran on the same database, in the same rounds. All ratios
are service ÷ other build: the median of the ratios of the rounds. CPU is per request.

| command | connections | other build, req/s | service, req/s | req/s, ratio | p50, ratio | p99, ratio | CPU of the service, ratio | CPU of PostgreSQL, ratio |
|---|---:|---:|---:|---:|---:|---:|---:|---:|
`

// rivalSection returns the section on another build, empty without one.
func rivalSection(all []*series) string {
	rows := &strings.Builder{}
	for _, s := range all {
		if len(s.rival) == 0 {
			continue
		}
		ratio := func(figure func(sample) float64) string {
			return ratioText(medianRatio(s.service, s.rival, figure))
		}
		fmt.Fprintf(rows, "| %s | %d | %.0f | %.0f | **%s** | %s | %s | %s | %s |\n",
			s.command.name, s.connections, medianOf(s.rival, rateOf), medianOf(s.service, rateOf),
			ratio(rateOf), ratio(p50Of), ratio(p99Of), ratio(cpuServiceOf), ratio(cpuPostgresOf))
	}
	if rows.Len() == 0 {
		return ""
	}
	return rivalText + rows.String()
}

// ratioText returns a dash if there is no ratio: replays from memory may use no
// measurable PostgreSQL CPU time.
func ratioText(ratio float64) string {
	if math.IsNaN(ratio) || math.IsInf(ratio, 0) {
		return "–"
	}
	return fmt.Sprintf("%.2f", ratio)
}
