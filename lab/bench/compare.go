package bench

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	pgtest "example.com/orders/internal/test/pg"
)

// compare measures and reports the service, the baseline and the other build.
func (b *bench) compare() {
	t := b.newTarget(pgtest.NewOn(b.t, b.cluster))
	commands := b.selectCommands()
	probes := b.probeAll(t, commands)
	b.serve(t, t.ServiceURL(b.t), b.pool)
	b.startBare(t)
	b.startRival(t)
	all := b.plan(commands, probes)
	b.warmUpAll(t, all)
	b.measureAll(t, all)
	b.publish(reportText(b.setup(t), all) + rivalSection(all))
}

// selectCommands returns the commands that the -only flag selects.
func (b *bench) selectCommands() []command {
	return slices.DeleteFunc(commands(), func(c command) bool {
		return !strings.Contains(c.name, b.only)
	})
}

// plan lists the series to measure: each command with each number of connections. A
// command that has no probe has no baseline.
func (b *bench) plan(commands []command, probes map[string]probe) []*series {
	var all []*series
	for _, c := range commands {
		for _, n := range b.connectionsOf(c) {
			p, compared := probes[c.name]
			all = append(all, &series{command: c, connections: n, probe: p, compared: compared})
		}
	}
	return all
}

func (b *bench) connectionsOf(c command) []int {
	if c.connections != nil {
		return c.connections
	}
	return b.connections
}

// warmUpAll runs every command on all sides for a second, with its most connections.
func (b *bench) warmUpAll(t *target, all []*series) {
	b.t.Log("warming up")
	for _, s := range all {
		if s.connections == slices.Max(b.connectionsOf(s.command)) {
			discarded := &series{command: s.command, connections: s.connections, probe: s.probe, compared: true}
			discarded.measureRound(t, b.rival, timing{0, time.Second}, true)
		}
	}
}

// measureAll measures every series once per round. The sides reverse their order each
// round.
func (b *bench) measureAll(t *target, all []*series) {
	for round := range b.rounds {
		for _, s := range all {
			s.measureRound(t, b.rival, b.timing, round%2 == 0)
			b.t.Logf("round %d of %d, %s, %d connections: %s", round+1, b.rounds,
				s.command.name, s.connections, s.lastRates())
		}
	}
}

// answerStormOnce makes this service process answer each request in the retry storm
// once. A run's first process executes them, later ones replay them.
func (t *target) answerStormOnce() {
	key := int64(firstStormKey)
	l := load{
		addr: t.service.addr, connections: 1,
		next: func(*rand.Rand) (request, error) {
			key++
			return credit(t, "1", number(key-1)), nil
		},
		check: func(res *fasthttp.Response) error {
			if res.StatusCode()/100 != 2 {
				return fmt.Errorf("status %d: %s", res.StatusCode(), res.Body())
			}
			t.replay = res.String()
			return nil
		},
	}
	if err := l.send(stormKeys, func() {}); err != nil {
		t.t.Fatal(err)
	}
}

// startRival starts the other build that the -compare flag names. It receives the same
// requests, on the same database, in the same rounds. Like the service, it keeps
// running during other measurements.
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
are service ÷ other build: the median of the ratios of the rounds. The tail is p99 ÷ p50.
CPU is per request.

| command | connections | other build, req/s | service, req/s | req/s, ratio | p50, ratio | p99, ratio | other build, tail | service, tail | CPU of the service, ratio | CPU of PostgreSQL, ratio |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
`

// rivalSection returns the section on the second build, if there is one.
func rivalSection(all []*series) string {
	rows := &strings.Builder{}
	for _, s := range all {
		if len(s.rival) == 0 {
			continue
		}
		ratio := func(figure func(sample) float64) float64 { return medianRatio(s.service, s.rival, figure) }
		fmt.Fprintf(rows, "| %s | %d | %.0f | %.0f | **%.2f** | %.2f | %.2f | %.1f | %.1f | %.2f | %.2f |\n",
			s.command.name, s.connections, medianOf(s.rival, rateOf), medianOf(s.service, rateOf),
			ratio(rateOf), ratio(p50Of), ratio(p99Of),
			medianOf(s.rival, tailOf), medianOf(s.service, tailOf), ratio(cpuServiceOf), ratio(cpuPostgresOf))
	}
	if rows.Len() == 0 {
		return ""
	}
	return rivalText + rows.String()
}
