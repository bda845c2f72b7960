package faults

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"example.com/orders/internal/dev/cluster"
	"example.com/orders/internal/test/e2e"
	"example.com/orders/internal/test/history"
)

const (
	// clusterStart bounds the start of a cluster, and the time until it is whole after a
	// strike, which takes minutes on a machine that does much else.
	clusterStart = 5 * time.Minute
	// front is the number of the balancer in the history. Those of replicas begin at 1.
	front = 0
	// retryPause and attemptTimeout are those of package client, without its back-off.
	retryPause, attemptTimeout = 100 * time.Millisecond, 10 * time.Second
)

// verdictsOfBalancer are those of HAProxy itself, whose replica has died or does not answer.
var verdictsOfBalancer = []string{"502", "503", "504"}

// brokers are the URLs of the servers of a broker.
type brokers string

// URL returns them.
func (b brokers) URL() string { return string(b) }

// startOnCluster starts a cluster for one run, and the system on it.
func startOnCluster(t testing.TB, asynchronous bool) *System {
	t.Helper()
	s := &System{Env: e2e.NewEnv(t), History: history.NewLog(), RetryPause: retryPause, AttemptTimeout: attemptTimeout}
	s.Keys = startKeyServer(t, s.Env)
	s.Provider = startProvider(t)
	s.Cluster = startCluster(t, cluster.Config{
		Orders: e2e.BuildOrders(t), Nats: buildNATS(t), Asynchronous: asynchronous, Notices: os.Stderr,
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

// buildNATS builds the server of NATS and returns the path of the binary.
func buildNATS(t testing.TB) (binary string) {
	t.Helper()
	binary = filepath.Join(t.TempDir(), "nats-server")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "github.com/nats-io/nats-server/v2")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, out)
	}
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

// keepLogs copies the logs of all nodes to a folder that outlives the test.
func keepLogs(c *cluster.Cluster) (dir string) {
	dir, err := os.MkdirTemp("", "faults-cluster-") // the person who reads it removes it
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

// RunOnCluster lets one strike after the other hit a cluster while clients work, and checks
// every promise. It prints what the clients saw of each strike.
func RunOnCluster(t testing.TB, p ClusterPlan) {
	t.Helper()
	s := startOnCluster(t, p.Asynchronous)
	reportAtEnd(t, p, p.String(), s)
	l := newLoad(t, s, p.Seed, verdictsOfBalancer)
	before := l.footprint()
	stopWatch := l.watch()
	stop := l.start(mostClients)
	l.awaitDecided(pause)
	var windows []window
	for _, strike := range p.Strikes {
		windows = append(windows, l.strike(strike))
		l.wantPromisesKept()
	}
	stop()
	t.Logf("what clients saw:\n\n%s", Table(l.effectsOf(windows)))
	l.conclude(stopWatch, before, nil)
	s.Counters.Require(t, looks, promisesChecked)
}
