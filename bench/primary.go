package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// comparison is one section of the report on a primary: ways to run the service, or the
// database below it, that are measured one after another in each round.
type comparison struct {
	title, text string
	loads       []commandLoad
	variants    []variant
	// begin prepares what the variants need, and returns what removes it. nil means
	// that they need nothing.
	begin func(ctx context.Context) (end func() error, err error)
}

// commandLoad is a command, by its name, and the connections that send it.
type commandLoad struct {
	name        string
	connections int
}

// variant is one way to run the service. Each measurement starts a process of it.
type variant struct {
	name   string
	env    []string // added to the environment of the service
	pool   int      // 0 means that of the -pool flag
	pooled bool     // through pgbouncer
	// change changes the database first. nil means that nothing changes.
	change func(ctx context.Context) error
}

// lanes returns the setting for the number of lanes. 0 lets each command have a
// transaction of its own.
func lanes(n int) []string { return []string{"ORDERS_COMMAND_LANES=" + strconv.Itoa(n)} }

// comparedSamples is the samples of one load, by variant. Samples with the same index
// belong to the same round.
type comparedSamples struct {
	commandLoad
	variants []variant
	samples  [][]sample
}

// primary measures what one primary does, and what bounds it.
func (b *bench) primary(ctx context.Context, out io.Writer) error {
	t, err := b.newTarget(ctx, "primary")
	if err != nil {
		return err
	}
	text := &strings.Builder{}
	for _, c := range b.comparisons(t) {
		if !strings.Contains(c.title, b.only) {
			continue
		}
		all, err := b.compareVariants(ctx, t, c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.title, err)
		}
		text.WriteString(c.section(all))
	}
	setup, err := b.setup(ctx, t)
	if err != nil {
		return err
	}
	return b.publish(out, fmt.Sprintf(primaryIntroduction, setup)+text.String())
}

// compareVariants measures each load of a comparison.
func (b *bench) compareVariants(
	ctx context.Context, t *target, c comparison,
) (all []comparedSamples, err error) {
	if c.begin != nil {
		end, beginErr := c.begin(ctx)
		if beginErr != nil {
			return nil, beginErr
		}
		defer func() { err = errors.Join(err, end()) }()
	}
	for _, l := range c.loads {
		compared, err := b.measureLoad(ctx, t, l, c.variants)
		if err != nil {
			return nil, err
		}
		all = append(all, compared)
	}
	return all, nil
}

// measureLoad measures a load with each variant, once per round. The variants reverse
// their order each round.
func (b *bench) measureLoad(
	ctx context.Context, t *target, l commandLoad, variants []variant,
) (comparedSamples, error) {
	compared := comparedSamples{l, variants, make([][]sample, len(variants))}
	for round := range b.rounds {
		for i := range variants {
			if round%2 == 1 {
				i = len(variants) - 1 - i
			}
			measured, err := b.measureVariant(ctx, t, variants[i], l)
			if err != nil {
				return compared, fmt.Errorf("%s: %w", variants[i].name, err)
			}
			b.progress("round %d of %d, %s, %d connections, %s: %.0f/s", round+1,
				b.rounds, l.name, l.connections, variants[i].name, measured.rate)
			compared.samples[i] = append(compared.samples[i], measured)
		}
	}
	return compared, nil
}

// measureVariant starts the service as the variant has it, and takes one sample.
func (b *bench) measureVariant(
	ctx context.Context, t *target, v variant, l commandLoad,
) (sample, error) {
	if v.change != nil {
		if err := v.change(ctx); err != nil {
			return sample{}, err
		}
	}
	databaseURL := t.serviceURL()
	if v.pooled {
		databaseURL = b.cluster.pooledURL
	}
	server, err := startService(ctx, b.binary, databaseURL, cmp.Or(v.pool, b.pool),
		b.issuer, b.cluster.dir, v.env...)
	if err != nil {
		return sample{}, err
	}
	measured, err := commandNamed(l.name).measureService(
		ctx, t.servedBy(server, t.tokens), l.connections, b.timing)
	return measured, errors.Join(err, server.stop())
}

// commandNamed returns the command with that name. There must be one.
func commandNamed(name string) command {
	all := commands()
	return all[slices.IndexFunc(all, func(c command) bool { return c.name == name })]
}
