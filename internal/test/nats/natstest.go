// Package natstest gives tests a broker of their own, and shows what is in its streams.
package natstest

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	devbroker "example.com/orders/internal/dev/broker"
	testport "example.com/orders/internal/test/port"
)

// fetchTimeout bounds the wait for the next messages of a stream.
const fetchTimeout = 10 * time.Second

// New starts a broker with durable streams, until the test ends. Its port is its own also
// while it is halted.
func New(t testing.TB) *devbroker.Broker {
	t.Helper()
	broker, err := devbroker.Start(t.Context(), devbroker.Config{DataDir: t.TempDir(), Port: testport.Free(t)})
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

// Connect connects to a broker, until the test ends. The connection outlives the broker's
// restarts.
func Connect(t testing.TB, broker *devbroker.Broker) *nats.Conn {
	t.Helper()
	conn, err := nats.Connect(broker.URL(), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// JetStream is Connect for those who work on streams.
func JetStream(t testing.TB, broker *devbroker.Broker) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(Connect(t, broker))
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// Messages gives the bodies of all messages of a stream, in its order.
func Messages(t testing.TB, broker *devbroker.Broker, stream string) [][]byte {
	t.Helper()
	consumer, err := JetStream(t, broker).OrderedConsumer(t.Context(), stream, jetstream.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	var all [][]byte
	for left := consumer.CachedInfo().NumPending; left > 0; {
		batch, err := consumer.Fetch(int(left), jetstream.FetchMaxWait(fetchTimeout))
		if err != nil {
			t.Fatal(err)
		}
		for msg := range batch.Messages() {
			all = append(all, msg.Data())
			left--
		}
		if err := batch.Error(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}
