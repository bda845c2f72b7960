package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	devpostgres "example.com/orders/internal/dev/postgres"
)

// durableSettings are an operator's first settings, on both sides. Everything else is
// PostgreSQL's default, so commits are durable.
var durableSettings = map[string]string{
	"shared_buffers":     "1GB",   // the default is 128 MB
	"max_wal_size":       "8GB",   // the default (1 GB) means a checkpoint every minute
	"checkpoint_timeout": "15min", // for the same reason
	"max_connections":    "400",   // 256 for pgbench, and the servers' pools
}

// loadingSettings make it fast to fill a database. Measurements run with
// durableSettings.
var loadingSettings = map[string]string{
	"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off", "autovacuum": "off",
	"shared_buffers": "1GB", "max_wal_size": "8GB", "maintenance_work_mem": "512MB",
}

// cluster is a PostgreSQL cluster for one benchmark run.
type cluster struct {
	*devpostgres.Server
	dir string // all the run's files; removed at the end
	pid int    // the postmaster's
}

// newCluster starts a cluster in a new directory below base. base must be on a disk: a
// file system in memory would make durability free.
func newCluster(ctx context.Context, base string, settings map[string]string) (*cluster, error) {
	dir, err := os.MkdirTemp(cmp.Or(base, "/var/tmp"), "orders-bench-")
	if err != nil {
		return nil, err
	}
	//nolint:gosec // the server may run as another user
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	c := &cluster{dir: dir}
	if err := c.start(ctx, settings); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return c, nil
}

// start listens on loopback, because both sides use TCP as production services do.
func (c *cluster) start(ctx context.Context, settings map[string]string) error {
	port, err := freePort(ctx)
	if err != nil {
		return err
	}
	c.Server, err = devpostgres.Start(ctx, devpostgres.Config{
		DataDir: filepath.Join(c.dir, "postgres"), Settings: settings,
		Notices: os.Stderr, Port: port,
	})
	if err != nil {
		return err
	}
	c.pid, err = readPostmasterPID(c.DataDir())
	return err
}

// restart restarts the cluster with other settings.
func (c *cluster) restart(ctx context.Context, settings map[string]string) error {
	if err := c.Stop(); err != nil {
		return err
	}
	return c.start(ctx, settings)
}

// stop stops the cluster and removes its data.
func (c *cluster) stop() error {
	return errors.Join(c.Stop(), os.RemoveAll(c.DataDir()), os.RemoveAll(c.dir))
}

func readPostmasterPID(dataDir string) (int, error) {
	text, err := os.ReadFile(filepath.Join(dataDir, "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return strconv.Atoi(first)
}

func freePort(ctx context.Context) (int, error) {
	addr, err := freeAddr(ctx)
	if err != nil {
		return 0, err
	}
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(port)
}

// freeAddr returns an unused loopback address.
func freeAddr(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// syncTime returns the median time to write one page durably. It bounds a single
// connection's rate.
func syncTime(dir string) (time.Duration, error) {
	file, err := os.CreateTemp(dir, "sync-")
	if err != nil {
		return 0, err
	}
	defer os.Remove(file.Name()) //nolint:errcheck // its directory is removed later
	defer file.Close()           //nolint:errcheck // its content is not needed
	times := make([]time.Duration, 100)
	page := make([]byte, 8<<10)
	for i := range times {
		start := time.Now()
		if _, err := file.WriteAt(page, 0); err != nil {
			return 0, err
		}
		if err := file.Sync(); err != nil {
			return 0, fmt.Errorf("sync: %w", err)
		}
		times[i] = time.Since(start)
	}
	slices.Sort(times)
	return quantile(times, 0.5), nil
}
