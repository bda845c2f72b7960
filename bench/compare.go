package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// compare measures the service, the baseline and the rivals, and reports all of them.
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
	if err := b.startRivals(ctx, t, commands); err != nil {
		return err
	}
	all := b.plan(commands, probes)
	if err := b.warmUpAll(ctx, t, all); err != nil {
		return err
	}
	if err := b.measureAll(ctx, t, all); err != nil {
		return err
	}
	locked, err := b.measureLocked(ctx, t)
	if err != nil {
		return err
	}
	if err := b.saveProfiles(ctx, t, commands); err != nil {
		return err
	}
	return errors.Join(b.report(ctx, t, all, locked, out), failuresOf(locked))
}

// selectCommands returns the commands that the -only flag selects.
func (b *bench) selectCommands() []command {
	return slices.DeleteFunc(commands(), func(c command) bool {
		return !strings.Contains(c.name, b.only)
	})
}

// plan lists the series to measure: each command at each of its numbers of connections.
func (b *bench) plan(commands []command, probes map[string]probe) []*series {
	var all []*series
	for _, c := range commands {
		for _, n := range b.connectionsOf(c) {
			all = append(all, b.newSeries(c, n, probes[c.name]))
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

// warmUpAll runs every command on all sides for a second, at its highest number of
// connections.
func (b *bench) warmUpAll(ctx context.Context, t *target, all []*series) error {
	b.progress("warming up")
	for _, s := range all {
		if s.connections != slices.Max(b.connectionsOf(s.command)) {
			continue
		}
		discarded := b.newSeries(s.command, s.connections, s.probe)
		if err := discarded.measureRound(ctx, t, timing{0, time.Second}, true); err != nil {
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
			if err := s.measureRound(ctx, t, b.timing, round%2 == 0); err != nil {
				return err
			}
			b.progress("round %d of %d, %s, %d connections: %s", round+1, b.rounds,
				s.command.name, s.connections, s.lastRates())
		}
	}
	return nil
}

// saveProfiles saves a CPU profile of each command under load if the -profiles flag is
// set.
func (b *bench) saveProfiles(ctx context.Context, t *target, commands []command) error {
	if b.profiles == "" {
		return nil
	}
	if err := os.MkdirAll(b.profiles, 0o755); err != nil {
		return err
	}
	for _, c := range commands {
		file := filepath.Join(b.profiles, profileName(c))
		saved := make(chan error, 1)
		go func() { saved <- t.service.saveProfile(ctx, b.length, file) }()
		longer := timing{0, b.length + time.Second}
		if _, err := c.measureService(ctx, t, someConnections, longer); err != nil {
			return err
		}
		if err := <-saved; err != nil {
			return err
		}
		b.progress("%s: profile saved to %s", c.name, file)
	}
	return nil
}

func profileName(c command) string {
	return strings.NewReplacer(" ", "-", ",", "").Replace(strings.ToLower(c.name)) + ".prof"
}

// answerStormOnce makes this process of the service answer each request of the retry
// storm once. The first process of a run executes them, later ones replay them.
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
