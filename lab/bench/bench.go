// Package bench compares the service with a baseline on the same machine. For a command,
// it is pgbench, which does the same database work directly. For a replay, it
// is a bare HTTP server, which only sends the same response.
//
// Service and baseline alternate within one run, on one durable PostgreSQL cluster.
// Ratios within a run are meaningful; absolute figures from different runs are not
// comparable. The benchmark never fails because a figure is low. It fails when a
// request fails.
package bench

import (
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	devissuer "example.com/orders/internal/dev/issuer"
	devpostgres "example.com/orders/internal/dev/postgres"
	"example.com/orders/internal/test/e2e"
	pgtest "example.com/orders/internal/test/pg"
	testport "example.com/orders/internal/test/port"
)

// durableSettings are an operator's first settings, on both sides. Everything else is
// PostgreSQL's default, so commits are durable.
var durableSettings = map[string]string{
	"shared_buffers":     "1GB",   // the default is 128 MB
	"max_wal_size":       "8GB",   // the default (1 GB) means a checkpoint every minute
	"checkpoint_timeout": "15min", // for the same reason
	"max_connections":    "400",   // 256 for pgbench, and the servers' pools
}

// options are the flag values.
type options struct {
	timing
	rounds      int
	connections []int
	only        string
	pool        int
	md          string
	other       string // path to the second build
	scale       float64
}

// timing is the duration of a measurement.
type timing struct{ warmUp, length time.Duration }

// define defines the flags.
func (o *options) define(flags *flag.FlagSet) {
	flags.DurationVar(&o.length, "duration", 5*time.Second,
		"duration of each measurement, in whole seconds")
	flags.DurationVar(&o.warmUp, "warm", time.Second,
		"warm-up before each measurement, in whole seconds")
	flags.IntVar(&o.rounds, "rounds", 3, "number of rounds; each measures everything once")
	o.connections = []int{1, 16, 64, 256}
	flags.Func("connections", "numbers of client connections (default 1,16,64,256)", o.parseConnections)
	flags.StringVar(&o.only, "only", "",
		"measure only the commands whose name contains this text")
	flags.IntVar(&o.pool, "pool", 4*runtime.NumCPU(),
		"size of the service's connection pool to PostgreSQL")
	flags.StringVar(&o.md, "md", "", "write the report to this file")
	flags.StringVar(&o.other, "compare", "",
		"also compare with another build of the service: the absolute path of its binary")
	flags.Float64Var(&o.scale, "scale", 1,
		"size of the large database; 1 means 10 million records and 1 million orders")
}

func (o *options) parseConnections(list string) error {
	o.connections = nil
	for item := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(item)
		if err != nil || n < 1 {
			return fmt.Errorf("%q is not a positive number", item)
		}
		o.connections = append(o.connections, n)
	}
	return nil
}

// bench is shared by all measurements in a run.
type bench struct {
	options
	t       testing.TB
	workDir string // the run's files
	cluster *devpostgres.Server
	binary  string // the compiled service
	issuer  *devissuer.Issuer
	jwksURL string
	tokens  tokens
	// rival is measured next to the service: a second build on the same database, or the
	// same build on a large one. It is nil if there is neither.
	rival *target
}

// newBench starts PostgreSQL and the token issuer, and compiles the service. Both sides
// reach PostgreSQL by TCP, as production services do.
func newBench(t testing.TB, o options) *bench {
	t.Helper()
	b := &bench{options: o, t: t, workDir: makeDir(t), binary: e2e.BuildOrders(t)}
	b.cluster = pgtest.StartCluster(t, devpostgres.Config{
		DataDir: filepath.Join(b.workDir, "postgres"), Settings: durableSettings, Port: testport.Free(t),
	})
	var err error
	if b.issuer, err = devissuer.New(devissuer.Config{Algorithm: "ES256"}); err != nil {
		t.Fatal(err)
	}
	keys := httptest.NewServer(b.issuer.Handler())
	t.Cleanup(keys.Close)
	b.jwksURL = keys.URL + devissuer.JWKSPath
	b.signTokens()
	return b
}

// makeDir makes a directory in /var/tmp, which is on a disk: a file system in memory
// would make durability free.
func makeDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "orders-bench-") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // the server may run as a different user
		t.Fatal(err)
	}
	return dir
}

// publish prints a report, and writes it to the -md file.
func (b *bench) publish(text string) {
	b.t.Log("\n" + text)
	if b.md == "" {
		return
	}
	if err := os.WriteFile(b.md, []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}
