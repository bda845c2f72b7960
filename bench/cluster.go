package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	devpostgres "example.com/orders/internal/dev/postgres"
)

// saneSettings is what an operator sets before any load, the same for both sides. All
// else is PostgreSQL's default: durability above all.
var saneSettings = map[string]string{
	"shared_buffers":     "1GB",   // the default is 128 MB
	"max_wal_size":       "8GB",   // the default of 1 GB means a checkpoint every minute or so
	"checkpoint_timeout": "15min", // as above
}

// loadSettings is for filling a database that is measured later, with the settings above.
var loadSettings = map[string]string{
	"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off",
	"shared_buffers": "1GB", "max_wal_size": "8GB", "maintenance_work_mem": "512MB", "autovacuum": "off",
}

// cluster is a PostgreSQL cluster of the benchmark's own.
type cluster struct {
	*devpostgres.Server
	dir string // of the data and what else the run writes; removed at the end
	pid int    // of the postmaster
}

// newCluster starts a cluster below base, which has to be on a disk: in a file system in
// memory, durability would cost nothing.
func newCluster(ctx context.Context, base string, settings map[string]string) (*cluster, error) {
	dir, err := os.MkdirTemp(cmp.Or(base, "/var/tmp"), "orders-bench-")
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // the server may run as another user
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	c := &cluster{dir: dir}
	if err := c.start(ctx, settings); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return c, nil
}

// start lets both sides come over TCP, on loopback, as a service comes to its database.
func (c *cluster) start(ctx context.Context, settings map[string]string) error {
	port, err := freePort(ctx)
	if err != nil {
		return err
	}
	c.Server, err = devpostgres.Start(ctx, devpostgres.Config{
		DataDir: filepath.Join(c.dir, "postgres"), Settings: settings, Notices: os.Stderr, Port: port,
	})
	if err != nil {
		return err
	}
	c.pid, err = postmasterOf(c.DataDir())
	return err
}

func freePort(ctx context.Context) (int, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer ln.Close() //nolint:errcheck // the port is free again, and that is all
	_, port, err := net.SplitHostPort(ln.Addr().String())
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(port)
}

// restart starts the cluster again with other settings.
func (c *cluster) restart(ctx context.Context, settings map[string]string) error {
	if err := c.Stop(); err != nil {
		return err
	}
	return c.start(ctx, settings)
}

// stop ends the cluster and removes its data.
func (c *cluster) stop() error {
	return errors.Join(c.Stop(), os.RemoveAll(c.DataDir()), os.RemoveAll(c.dir))
}

func postmasterOf(dataDir string) (int, error) {
	text, err := os.ReadFile(filepath.Join(dataDir, "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return strconv.Atoi(first)
}

// syncTime tells how long the disk takes to make a page durable: it bounds what one
// connection can do. The median of many.
func syncTime(dir string) (time.Duration, error) {
	file, err := os.CreateTemp(dir, "sync-")
	if err != nil {
		return 0, err
	}
	defer os.Remove(file.Name()) //nolint:errcheck // the whole directory goes soon
	defer file.Close()           //nolint:errcheck // nothing in it matters
	var times histogram
	page := make([]byte, 8<<10)
	for range 100 {
		start := time.Now()
		if _, err := file.WriteAt(page, 0); err != nil {
			return 0, err
		}
		if err := file.Sync(); err != nil {
			return 0, fmt.Errorf("sync: %w", err)
		}
		times.record(time.Since(start))
	}
	return times.quantile(0.5), nil
}
