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

	"example.com/orders/internal/test/pg/roundtrips"
)

// compare measures the service and the limit in turns.
func (b *bench) compare(ctx context.Context, out io.Writer) error {
	s, err := b.newSite(ctx, "orders")
	if err != nil {
		return err
	}
	commands := b.wanted()
	probes, err := b.probe(ctx, s, commands)
	if err != nil {
		return err
	}
	if err := b.serve(ctx, s, b.cluster.URL(s.database), b.pool); err != nil {
		return err
	}
	all := b.plan(commands, probes)
	if err := b.warmUp(ctx, s, all, probes); err != nil {
		return err
	}
	if err := b.rotate(ctx, s, all, probes); err != nil {
		return err
	}
	if err := b.profile(ctx, s, commands); err != nil {
		return err
	}
	return b.report(ctx, s, all, out)
}

// warmUp does everything once for a second, at the most connections.
func (b *bench) warmUp(ctx context.Context, s *site, all []*series, probes map[string]probe) error {
	b.say("warming up")
	for _, r := range all {
		if r.command.where == nil && r.connections != slices.Max(b.connections) {
			continue
		}
		once := &series{command: r.command, connections: r.connections}
		if err := once.turn(ctx, s, probes[r.command.name].samples, timing{0, time.Second}, true); err != nil {
			return err
		}
	}
	return nil
}

// wanted gives the commands that are to be measured.
func (b *bench) wanted() []command {
	return slices.DeleteFunc(commands(), func(c command) bool { return !strings.Contains(c.name, b.only) })
}

// probe looks at each command closely, with a service whose round trips are counted.
func (b *bench) probe(ctx context.Context, s *site, commands []command) (map[string]probe, error) {
	wire, err := roundtrips.Start(b.cluster.URL(s.database))
	if err != nil {
		return nil, err
	}
	if err := b.serve(ctx, s, wire.URL(), 1); err != nil {
		return nil, errors.Join(err, wire.Close())
	}
	found := map[string]probe{}
	for _, c := range commands {
		p, err := look(ctx, s, wire, c)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", c.name, err), wire.Close())
		}
		b.say("%s: %d round trips a request; the script leaves the rows that the service leaves", c.name, p.trips)
		found[c.name] = p
	}
	stopped := s.service.stop()
	s.service = nil
	return found, errors.Join(stopped, wire.Close())
}

// plan lists what is measured.
func (b *bench) plan(commands []command, probes map[string]probe) []*series {
	var all []*series
	for _, c := range commands {
		where := c.where
		if where == nil {
			where = b.connections
		}
		for _, n := range where {
			all = append(all, &series{command: c, connections: n, trips: probes[c.name].trips})
		}
	}
	return all
}

// rotate measures everything once a round. Which side is first changes with the rounds.
func (b *bench) rotate(ctx context.Context, s *site, all []*series, probes map[string]probe) error {
	for round := range b.rounds {
		for _, r := range all {
			if err := r.turn(ctx, s, probes[r.command.name].samples, b.timing, round%2 == 0); err != nil {
				return err
			}
			limit, service := r.limit[round].rate, r.service[round].rate
			b.say("round %d of %d, %s, %d connections: limit %.0f/s, service %.0f/s, ratio %.2f",
				round+1, b.rounds, r.command.name, r.connections, limit, service, service/limit)
		}
	}
	return nil
}

// profile takes a CPU profile of each command under load, if that is asked for.
func (b *bench) profile(ctx context.Context, s *site, commands []command) error {
	if b.profiles == "" {
		return nil
	}
	if err := os.MkdirAll(b.profiles, 0o755); err != nil {
		return err
	}
	for _, c := range commands {
		file := filepath.Join(b.profiles, strings.NewReplacer(" ", "-", ",", "").Replace(strings.ToLower(c.name))+".prof")
		taken := make(chan error, 1)
		go func() { taken <- s.service.profile(ctx, b.length, file) }()
		if _, err := c.measureService(ctx, s, hotAt, timing{0, b.length + time.Second}); err != nil {
			return err
		}
		if err := <-taken; err != nil {
			return err
		}
		b.say("%s: profile in %s", c.name, file)
	}
	return nil
}

// seeStorm makes this process of the service answer every request of the storm once.
func (s *site) seeStorm(ctx context.Context) error {
	key := int64(firstStormKey)
	l := load{
		addr: s.service.addr, connections: 1,
		next: func(*rand.Rand) (call, error) {
			key++
			return credit(s, "1", number(key-1)), nil
		},
		check: func(rep reply) error {
			if rep.status/100 != 2 {
				return fmt.Errorf("status %d: %s", rep.status, rep.body)
			}
			return nil
		},
	}
	return l.send(ctx, stormKeys, func() error { return nil })
}
