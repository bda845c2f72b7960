package nats_test

import (
	"bytes"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"

	"example.com/orders/internal/adapters/out/nats"
	testwait "example.com/orders/internal/test/wait"
)

// brokerPassword must not be in any error or log entry.
const brokerPassword = "hunter2"

func TestConnect_ErrorsHaveNoPassword(t *testing.T) {
	t.Parallel()
	for _, brokerURL := range []string{
		"nats://orders:hunter2@broker:port",
		"nats://orders:hunter2@broker:4222,nats://orders:hunter2@other:%zz",
		"nats://orders:hunter2@broker:4222,ws://orders:hunter2@other",
		"nats://orders:hunter2@[::1",
		"nats://orders:hunter2#x@broker",
		"nats://orders:hunter2%zz@broker",
		"nats://orders:hunter2\x7f@broker",
		"nats://hunter2:@broker:port",
	} {
		conn, err := nats.Connect(brokerURL, zerolog.Nop())
		if err == nil {
			conn.Close()
			t.Errorf("%q is accepted", brokerURL)
		} else if strings.Contains(err.Error(), brokerPassword) {
			t.Errorf("%q: %v", brokerURL, err)
		}
	}
}

// lockedBuffer is a log that the connection writes to in the background.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

// Write implements [io.Writer].
func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

// String returns what was written so far.
func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

// startWithPassword starts a broker that accepts one password, and returns its address.
func startWithPassword(t *testing.T, password string) (host string, stop func()) {
	t.Helper()
	return startOn(t, server.RANDOM_PORT, password)
}

func startOn(t *testing.T, port int, password string) (host string, stop func()) {
	t.Helper()
	broker, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: port, Username: "orders", Password: password, NoSigs: true, NoLog: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	broker.Start()
	t.Cleanup(broker.Shutdown)
	if !broker.ReadyForConnections(testwait.Patience) {
		t.Fatal("the broker does not start")
	}
	u, err := url.Parse(broker.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	return u.Host, func() { broker.Shutdown(); broker.WaitForShutdown() }
}

func TestConnect_LogsNoPassword(t *testing.T) {
	t.Parallel()
	host, stop := startWithPassword(t, brokerPassword)
	log := &lockedBuffer{}
	conn, err := nats.Connect("nats://orders:"+brokerPassword+"@"+host, zerolog.New(log))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	testwait.Until(t, "connected", conn.IsConnected)
	stop()
	testwait.Until(t, "the loss is logged", func() bool { return strings.Contains(log.String(), "broker disconnected") })
	if strings.Contains(log.String(), brokerPassword) {
		t.Errorf("the password is in the log: %s", log)
	}
}

// What the connection reports later goes into the log with the events that wait.
func TestConnect_ReportsARefusalWithoutThePassword(t *testing.T) {
	t.Parallel()
	host, _ := startWithPassword(t, "another")
	conn, err := nats.Connect("nats://orders:"+brokerPassword+"@"+host, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	testwait.Until(t, "refused", func() bool { return conn.LastError() != nil })
	publisher, err := nats.NewPublisher(conn)
	if err != nil {
		t.Fatal(err)
	}
	_, err = publisher.Publish(t.Context(), eventsOf("order/1"))
	if err == nil || strings.Contains(err.Error()+conn.LastError().Error(), brokerPassword) {
		t.Errorf("publish: %v, connection: %v; want errors without the password", err, conn.LastError())
	}
}
