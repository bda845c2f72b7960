package faults

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
	// front is the balancer's number in the history. Replica numbers begin at 1.
	front = 0
	// retryPause and attemptTimeout are the defaults in package client, without
	// back-off.
	retryPause, attemptTimeout = 100 * time.Millisecond, 10 * time.Second
)

// verdictsOfBalancer are HAProxy's answers for a replica that is dead or stuck.
var verdictsOfBalancer = []string{"502", "503", "504"}

// brokers are the URLs for a broker's servers.
type brokers string

// URL returns all URLs.
func (b brokers) URL() string { return string(b) }

// startOnCluster starts a cluster with a service binary, and a system on it for one run.
func startOnCluster(t testing.TB, orders string, asynchronous bool) *System {
	t.Helper()
	s := &System{Env: e2e.NewEnv(t), History: history.NewLog(), RetryPause: retryPause, AttemptTimeout: attemptTimeout}
	s.Keys = startKeyServer(t, s.Env)
	s.Provider = startProvider(t)
	s.Cluster = startCluster(t, cluster.Config{
		Orders: orders, Nats: buildNATS(t), Asynchronous: asynchronous, Notices: os.Stderr,
		Settings: slices.Concat(s.Settings(), e2e.CardSettings(s.Provider.URLs[0]), []string{"ORDERS_UNPAID_ORDERS=0"}),
	})
	s.DatabaseURL, s.Streams = s.Cluster.DatabaseURL(), brokers(s.Cluster.BrokerURL())
	s.Connect(t)
	s.Balancer = &Endpoint{Number: front, URL: s.Cluster.URL()}
	for i, n := range s.Cluster.Role("orders") {
		s.Endpoints = append(s.Endpoints, Endpoint{
			front + 1 + i, "http://" + net.JoinHostPort(n.Addr(), "8080"), net.JoinHostPort(n.Addr(), "9090"),
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

// RunOnCluster strikes a cluster repeatedly while clients work, and checks every
// promise. It prints the effect on clients for each strike.
func RunOnCluster(t testing.TB, p ClusterPlan) {
	t.Helper()
	s := startOnCluster(t, e2e.BuildOrders(t), p.Asynchronous)
	reportAtEnd(t, p.String(), s)
	l := newLoad(t, s, p.Seed, verdictsOfBalancer)
	conclude := l.workOnCluster()
	var windows []window
	for _, strike := range p.Strikes {
		windows = append(windows, l.strike(strike))
		l.wantPromisesKept()
	}
	conclude()
	t.Logf("what clients saw:\n\n%s", Table(l.effectsOf(windows)))
}

// workOnCluster lets the clients work until conclude is called, which checks every
// promise.
func (l *Load) workOnCluster() (conclude func()) {
	before := l.base()
	stopWatch := l.watch()
	stop := l.start(mostClients)
	l.awaitDecided(pause)
	return func() {
		stop()
		l.conclude(stopWatch, before)
		l.Counters.Require(l.t, looks, promisesChecked)
	}
}
