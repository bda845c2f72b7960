package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// compare measures and reports the service, the baseline and the other build.
func (b *bench) compare(ctx context.Context, out io.Writer) error {
	t, err := b.newTarget(ctx, "orders")
	if err != nil {
		return err
	}
	commands := b.selectCommands()
	probes, err := b.probeAll(ctx, t, commands)
	if err != nil {
		return err
	}
	if err := b.serve(ctx, t, t.serviceURL(), b.pool); err != nil {
		return err
	}
	if err := b.startRival(ctx, t); err != nil {
		return err
	}
	all := b.plan(commands, probes)
	if err := b.warmUpAll(ctx, t, all); err != nil {
		return err
	}
	if err := b.measureAll(ctx, t, all); err != nil {
		return err
	}
	return b.report(ctx, t, all, out)
}

// selectCommands returns the commands that the -only flag selects.
func (b *bench) selectCommands() []command {
	return slices.DeleteFunc(commands(), func(c command) bool {
		return !strings.Contains(c.name, b.only)
	})
}

// plan lists the series to measure: each command with each number of connections. A
// command without a probe has no baseline.
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
func (b *bench) warmUpAll(ctx context.Context, t *target, all []*series) error {
	b.progress("warming up")
	for _, s := range all {
		if s.connections != slices.Max(b.connectionsOf(s.command)) {
			continue
		}
		discarded := &series{command: s.command, connections: s.connections, probe: s.probe, compared: true}
		if err := discarded.measureRound(ctx, t, b.rival, timing{0, time.Second}, true); err != nil {
			return err
		}
	}
	return nil
}

// measureAll measures every series once per round. The sides reverse their order each
// round.
func (b *bench) measureAll(ctx context.Context, t *target, all []*series) error {
	for round := range b.rounds {
		for _, s := range all {
			if err := s.measureRound(ctx, t, b.rival, b.timing, round%2 == 0); err != nil {
				return err
			}
			b.progress("round %d of %d, %s, %d connections: %s", round+1, b.rounds,
				s.command.name, s.connections, s.lastRates())
		}
	}
	return nil
}

// answerStormOnce makes this service process answer each request in the retry storm
// once. A run's first process executes them, later ones replay them.
func (t *target) answerStormOnce(ctx context.Context) error {
	key := int64(firstStormKey)
	l := load{
		addr: t.service.addr, connections: 1,
		next: func(*rand.Rand) (request, error) {
			key++
			return credit(t, "1", number(key-1)), nil
		},
		check: func(res response) error {
			if res.status/100 != 2 {
				return fmt.Errorf("status %d: %s", res.status, res.body)
			}
			return nil
		},
	}
	return l.send(ctx, stormKeys, func() error { return nil })
}
