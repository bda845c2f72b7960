package nats_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"

	"example.com/orders/internal/adapters/out/nats"
)

// An anonymous client reaches no broker that asks for credentials (AUTH-14).
func TestConnect_AuthenticatesAtTheBroker(t *testing.T) {
	t.Parallel()
	broker, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, Username: "orders", Password: "word", NoSigs: true, NoLog: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	broker.Start()
	t.Cleanup(broker.Shutdown)
	if !broker.ReadyForConnections(time.Minute) {
		t.Fatal("the broker does not start")
	}
	address := strings.TrimPrefix(broker.ClientURL(), "nats://")
	for url, want := range map[string]bool{
		"nats://orders:word@" + address:  true,
		"nats://orders:wrong@" + address: false,
		"nats://" + address:              false,
	} {
		conn, err := nats.Connect(url, zerolog.Nop())
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		if got := conn.IsConnected(); got != want {
			t.Errorf("%s: connected = %v, want %v", url, got, want)
		}
		conn.Close()
	}
}
