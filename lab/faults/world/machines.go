package world

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/lab/cluster"
	"example.com/orders/lab/history"
)

const (
	// clusterStart bounds the start of a cluster and its recovery after a strike, which
	// can take minutes on a busy machine.
	clusterStart = 5 * time.Minute
	// Front is the balancer's number in the history. Replica numbers begin at 1.
	Front = 0
	// retryPause and attemptTimeout are the defaults in package client, without
	// back-off.
	retryPause, attemptTimeout = 100 * time.Millisecond, 10 * time.Second
)

// brokers are the URLs for a broker's servers.
type brokers string

// URL returns all URLs.
func (b brokers) URL() string { return string(b) }

// StartOnCluster starts a cluster with a service binary, and a system on it for one run.
func StartOnCluster(t testing.TB, orders string, asynchronous bool) *System {
	t.Helper()
	s := &System{Env: e2e.NewEnv(t), History: history.NewLog(), RetryPause: retryPause, AttemptTimeout: attemptTimeout}
	s.Keys = startKeyServer(t, s.Env)
	s.Provider = startProvider(t)
	s.Cluster = startCluster(t, cluster.Config{
		Orders: orders, Nats: buildNATS(t), Asynchronous: asynchronous, Notices: os.Stderr,
		// A reservation that ends after the clients changes the database while it is checked.
		Settings: slices.Concat(s.Settings(), e2e.CardSettings(s.Provider.URLs[0]),
			[]string{"ORDERS_UNPAID_ORDERS=0", "ORDERS_RESERVATION_TTL=24h"}),
	})
	s.DatabaseURL, s.Streams = s.Cluster.DatabaseURL(), brokers(s.Cluster.BrokerURL())
	s.Connect(t)
	s.Balancer = &Endpoint{Number: Front, URL: s.Cluster.URL()}
	for i, n := range s.Cluster.Role("orders") {
		s.Endpoints = append(s.Endpoints, Endpoint{
			Front + 1 + i, "http://" + net.JoinHostPort(n.Addr(), "8080"), net.JoinHostPort(n.Addr(), "9090"),
		})
	}
	return s
}

// buildNATS builds the NATS server and returns the binary's path.
func buildNATS(t testing.TB) (binary string) {
	t.Helper()
	binary = filepath.Join(t.TempDir(), "nats-server")
	command(t, root, "go", "build", "-o", binary, "github.com/nats-io/nats-server/v2")
	return binary
}

// startCluster starts a cluster that runs until the test ends.
func startCluster(t testing.TB, cfg cluster.Config) *cluster.Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), clusterStart)
	defer cancel()
	c, err := cluster.Start(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the logs of the nodes are in %s", keepLogs(c))
		}
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// keepLogs copies all node logs to a folder that outlives the test.
func keepLogs(c *cluster.Cluster) (dir string) {
	dir, err := os.MkdirTemp("", "faults-cluster-") // removed by its reader
	if err != nil {
		return err.Error()
	}
	for _, n := range c.Nodes() {
		if err := os.WriteFile(fmt.Sprintf("%s/%s.log", dir, n.Name()), []byte(n.Log()), 0o600); err != nil {
			return err.Error()
		}
	}
	return dir
}

// AwaitWhole waits until all nodes work and the standbys have caught up.
func (s *System) AwaitWhole(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), clusterStart)
	defer cancel()
	if err := s.Cluster.AwaitWhole(ctx); err != nil {
		t.Fatal(err)
	}
}
