// Package cluster runs the service on a local cluster, for trying it out and for the
// fault run: three nodes each for etcd, Patroni with PostgreSQL, pgbouncer, NATS and
// the service, and HAProxy in front. A node is a group of processes with a separate
// address and folder. There are no passwords, and no traffic leaves loopback.
package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	devpostgres "example.com/orders/internal/dev/postgres"
)

// The service database, its owner and its user.
const (
	database    = "orders"
	superuser   = "postgres"
	serviceRole = "orders_app"
	groupRole   = "orders_service"
)

// startTimeout bounds a start, which takes about 15 seconds on two cores.
const startTimeout = 2 * time.Minute

// Config describes a cluster.
type Config struct {
	// Orders is the service binary, Nats the NATS server.
	Orders, Nats string
	// Settings are additional settings for the replicas, "NAME=value" each, such as the
	// issuer. The cluster adds their addresses, the database and the broker.
	Settings []string
	// Asynchronous lets COMMIT wait for no standby. A failover then loses commits that
	// the standby lacks.
	Asynchronous bool
	// Available lets COMMIT wait for no standby while no standby exists: Patroni's
	// synchronous mode without strict.
	Available bool
	// Notices receives progress messages during the start. May be nil.
	Notices io.Writer
}

// Cluster is a running cluster. The methods are safe for concurrent use, except that
// each node needs one caller at a time.
type Cluster struct {
	cfg     Config
	dir     string
	subnet  subnet
	account account
	bin     map[string]string // programs; see findPrograms
	nodes   []*Node

	partitions sync.Mutex // held while iptables rules change
}

// Start starts all nodes, migrates the database, and returns when the cluster is whole
// (see [Cluster.AwaitWhole]). On an error it stops everything again.
func Start(ctx context.Context, cfg Config) (*Cluster, error) {
	cfg.Notices = cmp.Or(cfg.Notices, io.Discard)
	c := &Cluster{cfg: cfg}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start the cluster: %w", err), c.Stop())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) (err error) {
	if c.bin, err = findPrograms(ctx, c.cfg); err != nil {
		return err
	}
	if c.account.uid, c.account.switched, err = devpostgres.Account(); err != nil {
		return err
	}
	if c.subnet, err = reserveSubnet(ctx); err != nil {
		return err
	}
	if c.dir, err = makeDir(); err != nil {
		return err
	}
	if err := c.makeNodes(); err != nil {
		return err
	}
	c.endOldPartitions()
	c.notice("starting etcd, PostgreSQL and NATS")
	if err := c.startRoles("etcd", "postgres", "pgbouncer", "nats"); err != nil {
		return err
	}
	if err := c.await(ctx, "a primary with a synchronous standby", c.checkDatabase); err != nil {
		return err
	}
	c.notice("migrating the database, starting the service")
	if err := c.migrate(ctx); err != nil {
		return err
	}
	if err := c.startRoles("haproxy", "orders"); err != nil {
		return err
	}
	return c.AwaitWhole(ctx)
}

func (c *Cluster) notice(text string) { _, _ = fmt.Fprintln(c.cfg.Notices, "cluster:", text) }

// makeDir makes the nodes' folder. Socket paths must be short. In memory, etcd does not
// wait for the disk; the data is disposable.
func makeDir() (string, error) {
	parent := "/tmp"
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		parent = "/dev/shm"
	}
	dir, err := os.MkdirTemp(parent, "orders-cluster-")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o755) //nolint:gosec // the nodes run as a different user than root
}

// makeNodes makes all nodes, with their folders and configurations.
func (c *Cluster) makeNodes() error {
	for i, r := range roles {
		for number := 1; number <= r.count; number++ {
			name := r.name
			if r.count > 1 {
				name = fmt.Sprint(r.name, number)
			}
			c.nodes = append(c.nodes, &Node{
				cluster: c, role: r, name: name, number: number,
				addr: c.subnet.addr(10*(i+1) + number), dir: filepath.Join(c.dir, name), binary: c.cfg.Orders,
				gid: uint32(firstGroup + groupsOfCluster*c.subnet.number + len(c.nodes)),
			})
		}
	}
	for _, n := range c.nodes {
		if err := n.prepare(); err != nil {
			return fmt.Errorf("%s: %w", n.name, err)
		}
	}
	return nil
}

func (c *Cluster) startRoles(names ...string) error {
	for _, name := range names {
		for _, n := range c.Role(name) {
			if err := n.Start(); err != nil {
				return err
			}
		}
	}
	return nil
}

// migrate creates the database and the role, and migrates it with the service binary.
func (c *Cluster) migrate(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, c.databaseURL(superuser, superuser))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "CREATE DATABASE "+database)
	if err := errors.Join(err, conn.Close(ctx)); err != nil {
		return err
	}
	if err := c.await(ctx, "the database on all servers", c.checkCreated); err != nil {
		return err
	}
	if err := c.Migrate(ctx, c.cfg.Orders); err != nil {
		return err
	}
	return devpostgres.EnsureLogin(ctx, c.DatabaseURL(), serviceRole, groupRole)
}

// checkCreated returns an error while a server lacks the database. A client that asks
// one server after the other for the primary would stop there.
func (c *Cluster) checkCreated(ctx context.Context) error {
	for _, n := range c.Role("postgres") {
		conn, err := pgx.Connect(ctx, "postgres://"+superuser+"@"+net.JoinHostPort(n.addr, "5432")+"/"+database+"?sslmode=disable")
		if err != nil {
			return err
		}
		if err := conn.Close(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Migrate runs `orders migrate up` from a binary.
func (c *Cluster) Migrate(ctx context.Context, binary string) error {
	cmd := c.command(ctx, binary, "migrate", "up")
	cmd.Env = append(cmd.Env, "ORDERS_DATABASE_URL="+c.DatabaseURL())
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("orders migrate up: %w: %s", err, out)
	}
	return nil
}

// Stop kills all processes and removes their folders. The data is lost.
func (c *Cluster) Stop() error {
	var stopping sync.WaitGroup
	for _, n := range c.nodes {
		stopping.Go(n.quit)
	}
	stopping.Wait()
	return errors.Join(c.endPartitions(), c.subnet.release(), os.RemoveAll(c.dir))
}

// URL returns the service URL behind HAProxy.
func (c *Cluster) URL() string { return "http://" + net.JoinHostPort(c.Node("haproxy").addr, "8080") }

// DatabaseURL returns the database URL for the owner. It leads directly to the current
// primary.
func (c *Cluster) DatabaseURL() string { return c.databaseURL(superuser, database) }

func (c *Cluster) databaseURL(role, name string) string {
	return "postgres://" + role + "@" + c.hosts("postgres", "5432") + "/" + name +
		"?sslmode=disable&target_session_attrs=read-write&connect_timeout=2"
}

// BrokerURL returns the broker URLs, separated by commas.
func (c *Cluster) BrokerURL() string {
	return "nats://" + strings.ReplaceAll(c.hosts("nats", "4222"), ",", ",nats://")
}

// hosts returns the addresses of a role with a port, separated by commas.
func (c *Cluster) hosts(role, port string) string {
	var hosts []string
	for _, n := range c.Role(role) {
		hosts = append(hosts, net.JoinHostPort(n.addr, port))
	}
	return strings.Join(hosts, ",")
}

// Nodes returns all nodes: etcd1 to etcd3, postgres1, pgbouncer1, nats1, orders1 and so
// on, and haproxy.
func (c *Cluster) Nodes() []*Node { return c.nodes }

// Node returns a node by name, or nil.
func (c *Cluster) Node(name string) *Node {
	if i := slices.IndexFunc(c.nodes, func(n *Node) bool { return n.name == name }); i >= 0 {
		return c.nodes[i]
	}
	return nil
}

// Role returns the nodes in a role, such as etcd.
func (c *Cluster) Role(name string) []*Node {
	var nodes []*Node
	for _, n := range c.nodes {
		if n.role.name == name {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// await calls check until it returns nil or ctx ends. The error then includes the last
// one from check.
func (c *Cluster) await(ctx context.Context, what string, check func(context.Context) error) error {
	retry := time.NewTicker(100 * time.Millisecond)
	defer retry.Stop()
	var missing error
	for {
		once, cancel := context.WithTimeout(ctx, 5*time.Second)
		err := check(once)
		cancel()
		if err == nil {
			return nil
		}
		if missing == nil || ctx.Err() == nil {
			missing = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w: %w", what, ctx.Err(), missing)
		case <-retry.C:
		}
	}
}
