package natstest

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	devbroker "example.com/orders/internal/dev/broker"
	testport "example.com/orders/internal/test/port"
	testwait "example.com/orders/internal/test/wait"
)

const servers = 3

// Cluster holds three brokers by their names.
type Cluster map[string]*devbroker.Broker

// NewCluster starts a broker cluster, which runs until the test ends. It returns when
// streams can be created.
func NewCluster(t testing.TB) Cluster {
	t.Helper()
	ports := make([]int, servers)
	for i := range ports {
		ports[i] = testport.Free(t)
	}
	c := Cluster{}
	for i := range ports {
		place := &devbroker.Cluster{Server: i, Ports: ports}
		c[place.Name()] = start(t, devbroker.Config{DataDir: t.TempDir(), Port: testport.Free(t), Cluster: place})
	}
	js := JetStream(t, c)
	testwait.Until(t, "the cluster has a leader", func() bool {
		_, err := js.AccountInfo(t.Context())
		return err == nil
	})
	return c
}

// URL returns all servers' URLs, separated by commas.
func (c Cluster) URL() string {
	var urls []string
	for _, server := range c {
		urls = append(urls, server.URL())
	}
	return strings.Join(urls, ",")
}

// Leader returns the server that leads a stream, when all servers have the stream.
func (c Cluster) Leader(t testing.TB, js jetstream.JetStream, stream string) *devbroker.Broker {
	t.Helper()
	var leader *devbroker.Broker
	testwait.Until(t, "the stream has a leader and all its replicas", func() bool {
		found, err := js.Stream(t.Context(), stream)
		if err == nil {
			leader = c.leader(found.CachedInfo().Cluster)
		}
		return leader != nil
	})
	return leader
}

// ConsumerLeader returns the server that leads a consumer, when all servers have the
// consumer.
func (c Cluster) ConsumerLeader(t testing.TB, js jetstream.JetStream, stream, name string) *devbroker.Broker {
	t.Helper()
	var leader *devbroker.Broker
	testwait.Until(t, "the consumer has a leader and all its replicas", func() bool {
		found, err := js.Consumer(t.Context(), stream, name)
		if err == nil {
			leader = c.leader(found.CachedInfo().Cluster)
		}
		return leader != nil
	})
	return leader
}

// leader returns a group's leader, or nil if not all servers are in the group. A stream
// or consumer that is being created has no group yet.
func (c Cluster) leader(group *jetstream.ClusterInfo) *devbroker.Broker {
	if group == nil {
		return nil
	}
	current := 0
	for _, replica := range group.Replicas {
		if replica.Current && !replica.Offline {
			current++
		}
	}
	if current < servers-1 {
		return nil
	}
	return c[group.Leader]
}
