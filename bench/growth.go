package main

import (
	"context"
	"fmt"
	"io"
	"strings"
)

// growth measures the service on an empty and on a large database, and then during
// clean-up.
func (b *bench) growth(ctx context.Context, out io.Writer) error {
	empty, large, err := b.newTargets(ctx)
	if err != nil {
		return err
	}
	commands := b.selectCommands()
	probes, err := b.probeAll(ctx, large, commands)
	if err != nil {
		return err
	}
	for _, t := range []*target{empty, large} {
		if err := b.serve(ctx, t, t.serviceURL(), b.pool); err != nil {
			return err
		}
	}
	setup, err := b.setup(ctx, large)
	if err != nil {
		return err
	}
	measured, err := b.measureGrowth(ctx, empty, large, b.plan(commands, probes))
	if err != nil {
		return err
	}
	cleanUps, err := b.measureCleanUp(ctx, large)
	if err != nil {
		return err
	}
	return b.reportGrowth(ctx, out, large, setup, measured, cleanUps)
}

// growthSeries is all samples of one command on both databases. Samples with the same
// index belong to the same round.
type growthSeries struct {
	command      command
	connections  int
	empty, large []sample
}

// measureGrowth measures every command on both databases once per round. The databases
// swap their order each round.
func (b *bench) measureGrowth(
	ctx context.Context, empty, large *target, plan []*series,
) ([]*growthSeries, error) {
	all := make([]*growthSeries, len(plan))
	for i, s := range plan {
		all[i] = &growthSeries{command: s.command, connections: s.connections}
	}
	for round := range b.rounds {
		for _, s := range all {
			if err := s.measureRound(ctx, empty, large, b.timing, round%2 == 0); err != nil {
				return nil, err
			}
			b.progress("round %d of %d, %s, %d connections: empty %.0f/s, large %.0f/s", round+1,
				b.rounds, s.command.name, s.connections, s.empty[round].rate, s.large[round].rate)
		}
	}
	return all, nil
}

func (s *growthSeries) measureRound(
	ctx context.Context, empty, large *target, times timing, emptyFirst bool,
) error {
	sides := []struct {
		target  *target
		samples *[]sample
	}{{empty, &s.empty}, {large, &s.large}}
	if !emptyFirst {
		sides[0], sides[1] = sides[1], sides[0]
	}
	for _, side := range sides {
		measured, err := s.command.measureService(ctx, side.target, s.connections, times)
		if err != nil {
			return err
		}
		*side.samples = append(*side.samples, measured)
	}
	return nil
}

func (b *bench) reportGrowth(
	ctx context.Context, out io.Writer, large *target, setup string,
	all []*growthSeries, cleanUps []cleanUpRound,
) error {
	var size string
	err := large.db.QueryRow(ctx,
		`SELECT pg_size_pretty(pg_database_size(current_database()))`).Scan(&size)
	if err != nil {
		return err
	}
	content := fmt.Sprintf("%g million idempotency records and %g million orders, %s in all",
		millions(b.scaled(largeRecords)), millions(b.scaled(largeOrders)), size)
	return b.publish(out, growthText(setup, content, all, cleanUps))
}

func millions(n int64) float64 { return float64(n) / 1e6 }

const growthIntroduction = `# Growth

%s
The service ran alternately on an empty and on a large database. The large one holds
%s.
It was filled with durability off and measured with durability on.

All figures are medians. *Large ÷ empty* is the median of the ratios of the rounds. p99
is a latency of the service.

| command | connections | empty, req/s | large, req/s | large ÷ empty | p99 empty, ms | p99 large, ms |
|---|---:|---:|---:|---:|---:|---:|
`

const cleanUpIntroduction = `
## Clean-up

CreditBalance with %d connections, with and without the clean-up of expired idempotency
records at the same time. The rates are medians of the seconds in which clean-up was
busy. *Removed* is the number of records that clean-up removed, *duration* the time it
took.

| round | without, req/s | with, req/s | with ÷ without | removed | duration, s |
|---:|---:|---:|---:|---:|---:|
`

func growthText(setup, content string, all []*growthSeries, cleanUps []cleanUpRound) string {
	out := &strings.Builder{}
	fmt.Fprintf(out, growthIntroduction, setup, content)
	for _, s := range all {
		fmt.Fprintf(out, "| %s | %d | %.0f | %.0f | **%.2f** | %.2f | %.2f |\n",
			s.command.name, s.connections, medianOf(s.empty, rateOf), medianOf(s.large, rateOf),
			medianRatio(s.large, s.empty, rateOf), medianOf(s.empty, p99Of), medianOf(s.large, p99Of))
	}
	fmt.Fprintf(out, cleanUpIntroduction, someConnections)
	for i, round := range cleanUps {
		with, without := round.rates()
		fmt.Fprintf(out, "| %d | %.0f | %.0f | **%.2f** | %d | %.1f |\n", i+1,
			without, with, with/without, round.removed, round.duration.Seconds())
	}
	return out.String()
}
