// Command bench compares the service with a baseline on the same machine. The baseline
// is pgbench, which does the same database work without the service.
//
//	go run ./bench                  compares the service with the baseline, about 17 minutes
//	go run ./bench -compare FILE    also compares the service with another build
//	go run ./bench -sizes           measures the disk space per request
//	go run ./bench -growth          measures a large database
//
// Service and baseline alternate within one run, on one durable PostgreSQL cluster.
// Ratios within a run are meaningful; absolute figures from different runs are not
// comparable. The benchmark never fails because a figure is low. It fails when a
// request fails.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are the flag values.
type options struct {
	args []string // the flags themselves
	timing
	rounds      int
	connections []int
	only        string
	pool        int
	dir         string
	md          string
	other       string // path to another build
	growth      bool
	sizes       bool
	scale       float64
}

// timing is a measurement's duration.
type timing struct{ warmUp, length time.Duration }

func parseFlags(args []string) (options, error) {
	o := options{args: args}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	connections := flags.String("connections", "1,16,64,256", "numbers of client connections")
	o.register(flags)
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	var err error
	o.connections, err = parseConnections(*connections)
	return o, err
}

// register defines the flags that need no parsing.
func (o *options) register(flags *flag.FlagSet) {
	flags.DurationVar(&o.length, "duration", 5*time.Second,
		"duration of each measurement, in whole seconds")
	flags.DurationVar(&o.warmUp, "warm", time.Second,
		"warm-up before each measurement, in whole seconds")
	flags.IntVar(&o.rounds, "rounds", 3, "number of rounds; each measures everything once")
	flags.StringVar(&o.only, "only", "",
		"measure only the commands whose name contains this text")
	flags.IntVar(&o.pool, "pool", 4*runtime.NumCPU(),
		"size of the service's connection pool to PostgreSQL")
	flags.StringVar(&o.dir, "dir", "", "directory for the data, on a disk (default /var/tmp)")
	flags.StringVar(&o.md, "md", "", "write the report to this file")
	flags.StringVar(&o.other, "compare", "",
		"also compare with another build of the service: the path of its binary")
	flags.BoolVar(&o.growth, "growth", false, "measure the service on a large database instead")
	flags.BoolVar(&o.sizes, "sizes", false, "measure how much disk a request takes instead")
	flags.Float64Var(&o.scale, "scale", 1,
		"size of the large database; 1 means 10 million records and 1 million orders")
}

func parseConnections(list string) ([]int, error) {
	var numbers []int
	for item := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(item)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("-connections: %q is not a positive number", item)
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	o, err := parseFlags(args)
	if err != nil {
		return err
	}
	b, err := prepare(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	if o.growth {
		return b.growth(ctx, out)
	}
	if o.sizes {
		return b.sizes(ctx, out)
	}
	return b.compare(ctx, out)
}

// bench is shared by all measurements in a run.
type bench struct {
	options
	cluster *cluster
	binary  string // the compiled service
	issuer  *issuer
	tokens  tokens
	targets []*target
	// rival is measured beside the service: another build on the same database, or the
	// same build on a large one. It is nil without either.
	rival   *target
	started time.Time
}

// prepare starts PostgreSQL and the token issuer, and compiles the service.
func prepare(ctx context.Context, o options) (*bench, error) {
	b := &bench{options: o, started: time.Now()}
	settings := durableSettings
	if o.growth {
		settings = loadingSettings
	}
	var err error
	if b.cluster, err = newCluster(ctx, o.dir, settings); err != nil {
		return nil, err
	}
	if b.binary, err = build(ctx, b.cluster.dir); err != nil {
		return nil, errors.Join(err, b.close())
	}
	if b.issuer, err = startIssuer(ctx); err != nil {
		return nil, errors.Join(err, b.close())
	}
	if b.tokens, err = signTokens(b.issuer); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

// close stops all services and the cluster, and removes the data.
func (b *bench) close() error {
	var err error
	if b.rival != nil {
		err = b.rival.stopService() // of another build; a large database is among the targets
	}
	for _, t := range b.targets {
		err = errors.Join(err, t.stop())
	}
	return errors.Join(err, b.cluster.stop())
}

// newTarget creates a database. Its service is not running yet.
func (b *bench) newTarget(ctx context.Context, database string) (*target, error) {
	t, err := newTarget(ctx, b.cluster, database, b.tokens)
	if t != nil && t.db != nil {
		b.targets = append(b.targets, t)
	}
	return t, err
}

// serve starts a target's service, and stops a running one first. The new process
// answers each request in the retry storm once, so that replays find the responses in
// memory.
func (b *bench) serve(ctx context.Context, t *target, databaseURL string, pool int) error {
	if err := t.stopService(); err != nil {
		return err
	}
	var err error
	t.service, err = startService(ctx, b.binary, databaseURL, pool, b.issuer, b.cluster.dir)
	if err != nil {
		return err
	}
	return t.answerStormOnce(ctx)
}

// progress prints a line on standard error, with the seconds since the start.
func (b *bench) progress(format string, args ...any) {
	elapsed := time.Since(b.started).Seconds()
	fmt.Fprintf(os.Stderr, "%6.1fs  %s\n", elapsed, fmt.Sprintf(format, args...))
}
