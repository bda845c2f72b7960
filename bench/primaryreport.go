package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// pooledConnections is how many connections to the server pgbouncer has.
const pooledConnections = 8

// comparisons are the sections of the report on a primary.
func (b *bench) comparisons(t *target) []comparison {
	return []comparison{
		{
			title: "Shared transactions",
			text: "With two lanes, as by default, and with a transaction for each command " +
				"(`ORDERS_COMMAND_LANES=0`). *Hot customer* credits one balance only; in *Hot " +
				"product*, one product is in every order.",
			loads: []commandLoad{
				{"CreditBalance", 64}, {"CreateOrder", 64}, {"ConfirmPayment", 64},
				{"Hot customer", 64}, {"Hot product", 64},
			},
			variants: []variant{
				{name: "a transaction each", env: lanes(0)}, {name: "shared", env: lanes(2)},
			},
		},
		{
			title: "Lanes",
			text: "More lanes, as several replicas have them together, make smaller groups. The " +
				"pool has 32 connections.",
			loads: []commandLoad{{"CreditBalance", 256}, {"Hot customer", 256}},
			variants: []variant{
				{name: "2 lanes", env: lanes(2), pool: 32}, {name: "4 lanes", env: lanes(4), pool: 32},
				{name: "8 lanes", env: lanes(8), pool: 32}, {name: "16 lanes", env: lanes(16), pool: 32},
			},
		},
		{
			title: "Connections",
			text: "A pool of each size for 256 clients, with a transaction for each command and " +
				"with shared ones.",
			loads: []commandLoad{{"CreditBalance", 256}},
			variants: []variant{
				{name: "8, a transaction each", env: lanes(0), pool: 8},
				{name: "32, a transaction each", env: lanes(0), pool: 32},
				{name: "128, a transaction each", env: lanes(0), pool: 128},
				{name: "8, shared", env: lanes(2), pool: 8}, {name: "128, shared", env: lanes(2), pool: 128},
			},
		},
		b.poolerComparison(t), b.standbyComparison(t),
	}
}

func (b *bench) poolerComparison(t *target) comparison {
	pooled := func(n int) []string { return append(lanes(n), "ORDERS_DATABASE_POOLER=transaction") }
	return comparison{
		title: "pgbouncer",
		text: fmt.Sprintf("Direct, and through pgbouncer in transaction mode with %d connections to "+
			"the server. The CPU time of pgbouncer is in no column.", pooledConnections),
		loads: []commandLoad{{"CreditBalance", 64}, {"CreateOrder", 64}},
		variants: []variant{
			{name: "a transaction each", env: lanes(0)},
			{name: "a transaction each, pgbouncer", env: pooled(0), pooled: true},
			{name: "shared", env: lanes(2)}, {name: "shared, pgbouncer", env: pooled(2), pooled: true},
		},
		begin: func(ctx context.Context) (func() error, error) {
			return b.cluster.startPooler(ctx, t.serviceURL(), pooledConnections)
		},
	}
}

func (b *bench) standbyComparison(t *target) comparison {
	replicate := func(synchronous bool) func(context.Context) error {
		return func(ctx context.Context) error { return t.replicate(ctx, synchronous) }
	}
	return comparison{
		title: "A synchronous standby",
		text: "A standby on the same cores and the same disk, which each COMMIT waits for or not. " +
			"There is no network between them. *Replay* is the one process of the standby that " +
			"replays the write-ahead log.",
		loads: []commandLoad{{"CreditBalance", 1}, {"CreateOrder", 64}, {"ConfirmPayment", 64}},
		variants: []variant{
			{name: "a transaction each, asynchronous", env: lanes(0), change: replicate(false)},
			{name: "a transaction each, synchronous", env: lanes(0), change: replicate(true)},
			{name: "shared, asynchronous", env: lanes(2), change: replicate(false)},
			{name: "shared, synchronous", env: lanes(2), change: replicate(true)},
		},
		begin: func(ctx context.Context) (func() error, error) {
			stop, err := b.cluster.startStandby(ctx)
			return func() error { return errors.Join(t.replicate(ctx, false), stop()) }, err
		},
	}
}

const primaryIntroduction = `# One primary

%s
The service ran as each variant says, one process after another on one database, in the
same rounds. The figures are those of the fastest round of each variant: other work on the
machine only slows a round down. *Ratio* is the rate ÷ that of the first variant. *CPU* is
seconds of CPU time per 1 000 requests. *Per core* is how many requests a second PostgreSQL
could make on a core that has nothing else to do: 1 000 ÷ its CPU. *WAL* is bytes of
write-ahead log per request. [scale.md](scale.md) says what follows from the figures.
`

const comparisonColumns = `
## %s

%s

| command | connections | variant | req/s | ratio | p50, ms | p99, ms | CPU: service | CPU: PostgreSQL | CPU: replay | per core | WAL |
|---|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|
`

// section returns the section of the report.
func (c comparison) section(all []comparedSamples) string {
	out := &strings.Builder{}
	fmt.Fprintf(out, comparisonColumns, c.title, c.text)
	for _, compared := range all {
		for i, v := range compared.variants {
			fmt.Fprintf(out, "| %s | %d | %s %s\n", compared.name, compared.connections, v.name,
				figuresOf(fastest(compared.samples[i]), fastest(compared.samples[0])))
		}
	}
	return out.String()
}

// fastest returns the sample of the fastest round.
func fastest(samples []sample) sample {
	return slices.MaxFunc(samples, func(a, b sample) int { return cmp.Compare(a.rate, b.rate) })
}

// figuresOf returns the columns of a variant, compared with the first one.
func figuresOf(s, first sample) string {
	return fmt.Sprintf("| %.0f | **%.2f** | %.2f | %.2f | %.3f | %.3f | %.3f | %.0f | %.0f |",
		s.rate, s.rate/first.rate, milliseconds(s.p50), milliseconds(s.p99),
		s.cpuService, s.cpuPostgres, s.cpuReplay, 1000/s.cpuPostgres, s.wal)
}
