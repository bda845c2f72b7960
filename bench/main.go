// Command bench measures the service against the limit of its machine: what PostgreSQL
// can do when pgbench gives it the same work and nothing stands in between.
//
//	go run ./bench            the comparison, about 12 minutes
//	go run ./bench -quick     a look at whether all of it works
//	go run ./bench -growth    the service on a large database, and beside clean-up
//
// Both sides take turns within one run, on one durable cluster: figures of two runs say
// little about each other, their ratios within one run do. It never fails on a number,
// and it refuses to report when requests failed.
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

// options are the flags.
type options struct {
	timing
	rounds      int
	connections []int
	only        string
	pool        int
	dir         string
	svg, md     string
	profiles    string
	growth      bool
	scale       float64
}

func readFlags(args []string) (options, error) {
	var o options
	var quick bool
	var connections string
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.BoolVar(&quick, "quick", false, "one round of a second each: shows that it works, its figures mean little")
	flags.DurationVar(&o.length, "duration", 5*time.Second, "of each measurement, whole seconds")
	flags.DurationVar(&o.warm, "warm", time.Second, "before each measurement, whole seconds")
	flags.IntVar(&o.rounds, "rounds", 3, "how often each measurement is repeated")
	flags.StringVar(&connections, "connections", "1,16,64", "numbers of connections")
	flags.StringVar(&o.only, "only", "", "measure only commands whose name contains this")
	flags.IntVar(&o.pool, "pool", 4*runtime.NumCPU(), "connections of the service to PostgreSQL")
	flags.StringVar(&o.dir, "dir", "", "where the data goes, on a disk (default /var/tmp)")
	flags.StringVar(&o.svg, "svg", "", "draw the figures into this file, such as docs/benchmark.svg")
	flags.StringVar(&o.md, "md", "", "write the report into this file, such as docs/benchmark.md")
	flags.StringVar(&o.profiles, "profiles", "", "save a CPU profile of the service for each command in this directory")
	flags.BoolVar(&o.growth, "growth", false, "measure on a large database instead")
	flags.Float64Var(&o.scale, "scale", 1, "of -growth: 1 is 10 million records and 1 million orders")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if quick {
		o.rounds, o.length = 1, time.Second
	}
	for word := range strings.SplitSeq(connections, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return o, fmt.Errorf("-connections: %q is not a number of connections", word)
		}
		o.connections = append(o.connections, n)
	}
	return o, nil
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	o, err := readFlags(args)
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
	return b.compare(ctx, out)
}

// bench is what all measurements share.
type bench struct {
	options
	cluster *cluster
	binary  string
	issuer  *issuer
	tokens  tokens
	sites   []*site
	started time.Time
}

// prepare starts what everything needs.
func prepare(ctx context.Context, o options) (*bench, error) {
	b := &bench{options: o, started: time.Now()}
	settings := saneSettings
	if o.growth {
		settings = loadSettings
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

// close ends everything and removes the data.
func (b *bench) close() error {
	var err error
	for _, s := range b.sites {
		err = errors.Join(err, s.stop())
	}
	return errors.Join(err, b.cluster.stop())
}

// newSite makes a database. Its service is started by the caller.
func (b *bench) newSite(ctx context.Context, database string) (*site, error) {
	s, err := newSite(ctx, b.cluster, database, b.tokens)
	if s != nil && s.db != nil {
		b.sites = append(b.sites, s)
	}
	return s, err
}

// serve starts the service on a site, or starts it again. A storm of retries is about
// requests that its process has seen.
func (b *bench) serve(ctx context.Context, s *site, databaseURL string, pool int) error {
	if s.service != nil {
		old := s.service
		s.service = nil
		if err := old.stop(); err != nil {
			return err
		}
	}
	var err error
	if s.service, err = startService(ctx, b.binary, databaseURL, pool, b.issuer, b.cluster.dir); err != nil {
		return err
	}
	return s.seeStorm(ctx)
}

// say tells on standard error how far the run is.
func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%6.1fs  "+format+"\n", append([]any{time.Since(b.started).Seconds()}, args...)...)
}
