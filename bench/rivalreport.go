package main

import (
	"fmt"
	"strings"
)

const otherText = `
## Compared with another build

The other build of the service ran on the same database, in the same rounds. All ratios
are service ÷ other build: the median of the ratios of the rounds. CPU is per request.

| command | connections | other build, req/s | service, req/s | req/s, ratio | p50, ratio | p99, ratio | CPU of the service, ratio | CPU of PostgreSQL, ratio |
|---|---:|---:|---:|---:|---:|---:|---:|---:|
`

// otherSection returns the section on another build of the service, empty without one.
func otherSection(all []*series) string {
	out := &strings.Builder{}
	for _, s := range all {
		for _, r := range s.rivals {
			ratio := func(figure func(sample) float64) float64 {
				return medianRatio(s.service, r.samples, figure)
			}
			fmt.Fprintf(out, "| %s | %d | %.0f | %.0f | **%.2f** | %.2f | %.2f | %.2f | %.2f |\n",
				s.command.name, s.connections, medianOf(r.samples, rateOf), medianOf(s.service, rateOf),
				ratio(rateOf), ratio(p50Of), ratio(p99Of), ratio(cpuServiceOf), ratio(cpuPostgresOf))
		}
	}
	return withHeading(otherText, out)
}

// withHeading returns the rows below their heading, or nothing if there are no rows.
func withHeading(heading string, rows *strings.Builder) string {
	if rows.Len() == 0 {
		return ""
	}
	return heading + rows.String()
}
