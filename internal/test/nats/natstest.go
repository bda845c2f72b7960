// Package natstest starts a broker for a test and reads the streams.
package natstest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	devbroker "example.com/orders/internal/dev/broker"
	testport "example.com/orders/internal/test/port"
	testwait "example.com/orders/internal/test/wait"
)

// fetchTimeout bounds the wait for the next messages of a stream.
const fetchTimeout = 10 * time.Second

// Address is a broker or a [Cluster].
type Address interface{ URL() string }

// New starts a broker with durable streams, which runs until the test ends. While it is
// halted, no other server in this process gets its port.
func New(t testing.TB) *devbroker.Broker {
	t.Helper()
	return start(t, devbroker.Config{DataDir: t.TempDir(), Port: testport.Free(t)})
}

func start(t testing.TB, cfg devbroker.Config) *devbroker.Broker {
	t.Helper()
	broker, err := devbroker.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := broker.Stop(); err != nil {
			t.Error(err)
		}
	})
	return broker
}

// Connect connects to a broker until the test ends. The connection survives broker
// restarts, and moves to the next server when one in a cluster stops answering.
func Connect(t testing.TB, broker Address) *nats.Conn {
	t.Helper()
	conn, err := nats.Connect(broker.URL(), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond),
		nats.PingInterval(time.Second), nats.MaxPingsOutstanding(2))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// JetStream connects like Connect, for tests that work on streams.
func JetStream(t testing.TB, broker Address) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(Connect(t, broker))
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// Messages returns the bodies in a stream, in stream order.
func Messages(t testing.TB, broker Address, stream string) [][]byte {
	t.Helper()
	var bodies [][]byte
	for _, msg := range Read(t, broker, stream) {
		bodies = append(bodies, msg.Data())
	}
	return bodies
}

// Read returns the messages in a stream, in stream order. It begins again after an error:
// a cluster in which a server has just left or returned leaves some requests unanswered.
func Read(t testing.TB, broker Address, stream string) []jetstream.Msg {
	t.Helper()
	js := JetStream(t, broker)
	var all []jetstream.Msg
	testwait.Until(t, "the stream "+stream+" is read", func() (complete bool) {
		var err error
		all, err = read(t.Context(), js, stream)
		return err == nil
	})
	return all
}

// read counts on the stream's leader. A consumer counts on its own replica, which may still
// have to store what the leader has acknowledged.
func read(ctx context.Context, js jetstream.JetStream, name string) (all []jetstream.Msg, err error) {
	stream, err := js.Stream(ctx, name)
	if err != nil {
		return nil, err
	}
	consumer, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return nil, err
	}
	for want := int(stream.CachedInfo().State.Msgs); len(all) < want; {
		batch, err := consumer.Fetch(want-len(all), jetstream.FetchMaxWait(fetchTimeout))
		if err != nil {
			return nil, err
		}
		before := len(all)
		for msg := range batch.Messages() {
			all = append(all, msg)
		}
		switch {
		case batch.Error() != nil:
			return nil, batch.Error()
		case len(all) == before:
			return nil, errors.New("no message arrives")
		}
	}
	return all, nil
}

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
