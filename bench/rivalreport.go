package main

import (
	"fmt"
	"math"
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
			if r.peer {
				continue
			}
			ratio := func(figure func(sample) float64) string {
				return ratioText(medianRatio(s.service, r.samples, figure))
			}
			fmt.Fprintf(out, "| %s | %d | %.0f | %.0f | **%s** | %s | %s | %s | %s |\n",
				s.command.name, s.connections, medianOf(r.samples, rateOf), medianOf(s.service, rateOf),
				ratio(rateOf), ratio(p50Of), ratio(p99Of), ratio(cpuServiceOf), ratio(cpuPostgresOf))
		}
	}
	return withHeading(otherText, out)
}

// ratioText returns a dash if there is no ratio: replays from memory may use no measurable
// CPU time of PostgreSQL.
func ratioText(ratio float64) string {
	if math.IsNaN(ratio) || math.IsInf(ratio, 0) {
		return "–"
	}
	return fmt.Sprintf("%.2f", ratio)
}

const peersText = `
## Peers

What most services do, written for this benchmark with Express and with Fastify (` + "`bench/peers`" + `):
find the key, run the command, save the response. Command, event and response are in one
transaction, with named prepared statements of ` + "`pg`" + `. They verify every token with
` + "`jose`" + `, validate the request and write one log line per request with ` + "`pino`" + `.

The peers run one Node.js process per core, with as many connections to PostgreSQL in all
as the service. They leave the same rows as the service. They do less: of two
requests with one key at the same time, both run, and the second gets 409 instead of the
response of the first. They have no limits, no metrics, no audit log and no jobs. They
look everything up each time: the service remembers verified tokens and recent responses.

*Ratio* is the rate ÷ that of the baseline, *CPU* in seconds per 1 000 requests.

| command | connections | server | req/s | ratio | p50, ms | p99, ms | CPU: server | CPU: PostgreSQL |
|---|---:|---|---:|---:|---:|---:|---:|---:|
`

// peersSection returns the section on the peers, empty without any.
func peersSection(all []*series) string {
	out := &strings.Builder{}
	for _, s := range all {
		rows := &strings.Builder{}
		for _, r := range s.rivals {
			if r.peer {
				rows.WriteString(s.peerRow(r.name, r.samples))
			}
		}
		if rows.Len() > 0 {
			out.WriteString(s.peerRow("service", s.service) + rows.String())
		}
	}
	return withHeading(peersText, out)
}

func (s *series) peerRow(name string, samples []sample) string {
	return fmt.Sprintf("| %s | %d | %s | %.0f | **%.2f** | %.2f | %.2f | %.3f | %.3f |\n",
		s.command.name, s.connections, name, medianOf(samples, rateOf),
		medianRatio(samples, s.baseline, rateOf), medianOf(samples, p50Of), medianOf(samples, p99Of),
		medianOf(samples, cpuServiceOf), medianOf(samples, cpuPostgresOf))
}

// withHeading returns the rows below their heading, or nothing if there are no rows.
func withHeading(heading string, rows *strings.Builder) string {
	if rows.Len() == 0 {
		return ""
	}
	return heading + rows.String()
}
