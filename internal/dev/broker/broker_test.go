package broker

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func startBroker(t *testing.T, cfg Config) *Broker {
	t.Helper()
	b, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Stop(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func jetStream(t *testing.T, b *Broker) jetstream.JetStream {
	t.Helper()
	conn, err := nats.Connect(b.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func TestRestart_KeepsStreamsAndURL(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "broker")
	b := startBroker(t, Config{DataDir: dir})
	url := b.URL()
	js := jetStream(t, b)
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), "s", []byte("kept")); err != nil {
		t.Fatal(err)
	}
	if err := b.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if b.URL() != url {
		t.Errorf("the URL changed from %s to %s", url, b.URL())
	}
	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	next := startBroker(t, Config{DataDir: dir})
	stream, err := jetStream(t, next).Stream(t.Context(), "S")
	if err != nil {
		t.Fatal(err)
	}
	if n := stream.CachedInfo().State.Msgs; n != 1 {
		t.Errorf("the stream has %d messages, want 1", n)
	}
}

func TestStop_RemovesATemporaryDirectory(t *testing.T) {
	t.Parallel()
	b := startBroker(t, Config{})
	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(b.cfg.DataDir); !os.IsNotExist(err) {
		t.Errorf("%s: %v", b.cfg.DataDir, err)
	}
	if conn, err := nats.Connect(b.URL()); err == nil {
		conn.Close()
		t.Error("the broker still accepts connections")
	}
}

func TestStart_FailsIfThePortIsInUse(t *testing.T) {
	t.Parallel()
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close() //nolint:errcheck // nothing was written
	port := taken.Addr().(*net.TCPAddr).Port
	if _, err := Start(t.Context(), Config{Port: port}); err == nil {
		t.Error("no error")
	}
}

func TestStart_ListensOnLoopback(t *testing.T) {
	t.Parallel()
	b := startBroker(t, Config{})
	if addr, ok := b.server.Addr().(*net.TCPAddr); !ok || !addr.IP.IsLoopback() {
		t.Errorf("listens on %v", b.server.Addr())
	}
}
