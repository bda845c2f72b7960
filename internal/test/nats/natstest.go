// Package natstest starts a broker for a test and reads its streams.
package natstest

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	devbroker "example.com/orders/internal/dev/broker"
	testport "example.com/orders/internal/test/port"
)

// fetchTimeout bounds the wait for a stream's next messages.
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
// restarts, and moves to another server when one in a cluster stops answering.
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

// Read returns the messages in a stream, in stream order.
func Read(t testing.TB, broker Address, stream string) []jetstream.Msg {
	t.Helper()
	consumer, err := JetStream(t, broker).OrderedConsumer(t.Context(), stream, jetstream.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	var all []jetstream.Msg
	for pending := consumer.CachedInfo().NumPending; pending > 0; {
		batch, err := consumer.Fetch(int(pending), jetstream.FetchMaxWait(fetchTimeout))
		if err != nil {
			t.Fatal(err)
		}
		for msg := range batch.Messages() {
			all = append(all, msg)
			pending--
		}
		if err := batch.Error(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}
