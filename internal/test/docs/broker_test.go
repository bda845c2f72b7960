package docs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"example.com/orders/internal/adapters/in/events"
	outnats "example.com/orders/internal/adapters/out/nats"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/outbox"
	"example.com/orders/internal/streams"
	testlog "example.com/orders/internal/test/log"
	natstest "example.com/orders/internal/test/nats"
	testwait "example.com/orders/internal/test/wait"
)

// startDocumentedBroker starts a broker with the authorization in docs/operate.md, and with
// a user owner, who may do everything.
func startDocumentedBroker(t *testing.T) (host string) {
	t.Helper()
	t.Setenv("NATS_PASSWORD", "word")
	block := regexp.MustCompile(`(?m)^    authorization \{\n(?:     .*\n)+    \}\n`).FindString(pageAt("docs/operate.md").Text)
	path := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(path, []byte(block), 0o600); err != nil {
		t.Fatal(err)
	}
	options, err := server.ProcessConfigFile(path)
	if err != nil || len(options.Users) != 2 {
		t.Fatalf("%v in %q", err, block)
	}
	options.Users = append(options.Users, &server.User{Username: "owner", Password: "word"})
	options.Host, options.Port, options.NoSigs, options.NoLog = "127.0.0.1", server.RANDOM_PORT, true, true
	options.JetStream, options.StoreDir = true, t.TempDir()
	broker, err := server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	broker.Start()
	t.Cleanup(func() { broker.Shutdown(); broker.WaitForShutdown() })
	if !broker.ReadyForConnections(testwait.Patience) {
		t.Fatal("the broker does not start")
	}
	return broker.Addr().String()
}

// connectAs connects as a user of the broker, as the service does.
func connectAs(t *testing.T, user, host string, log *testlog.Buffer) (*nats.Conn, jetstream.JetStream) {
	t.Helper()
	conn, err := outnats.Connect("nats://"+user+":word@"+host, outnats.Files{}, zerolog.New(log))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return conn, js
}

// messagesIn returns how many messages a stream has.
func messagesIn(t *testing.T, js jetstream.JetStream, stream string) uint64 {
	t.Helper()
	found, err := js.Stream(t.Context(), stream)
	if err != nil {
		return 0 // it is created later
	}
	return found.CachedInfo().State.Msgs
}

// publish publishes an event as the relay does.
func publish(t *testing.T, conn *nats.Conn) {
	t.Helper()
	publisher, err := outnats.NewPublisher(conn)
	if err != nil {
		t.Fatal(err)
	}
	event := outbox.Event{ID: uuid.NewString(), Type: "order.paid", Aggregate: "order/1", Data: []byte("{}")}
	if _, err := publisher.Publish(t.Context(), []outbox.Event{event}); err != nil {
		t.Errorf("publish an event: %v", err)
	}
}

func TestOperate_BrokerUserHasThePermissionsThatItNeeds(t *testing.T) {
	host, log := startDocumentedBroker(t), &testlog.Buffer{}
	conn, js := connectAs(t, "orders", host, log)
	_, owner := connectAs(t, "owner", host, log)
	restocked := make(chan string, 1)
	consumer, err := events.New(events.Config{Conn: conn, Log: zerolog.New(log), Restock: func(_ context.Context, cmd order.Restock) error {
		restocked <- cmd.SKU
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	natstest.Run(t, consumer.Run)
	publish(t, conn)
	for _, body := range []string{
		`{"specversion":"1.0","id":"1","source":"/w","type":"inventory.restocked","data":{"sku":"tea","quantity":1}}`, "unreadable",
	} {
		testwait.Until(t, "the warehouse's message is stored", func() bool {
			_, err := owner.Publish(t.Context(), events.Subject, []byte(body))
			return err == nil
		})
	}
	<-restocked
	testwait.Until(t, "a message is dead-lettered", func() bool { return messagesIn(t, owner, events.DeadLetterStream) == 1 })
	testwait.Until(t, "both messages are acknowledged", func() bool {
		found, err := owner.Consumer(t.Context(), events.Stream, "orders-restock")
		return err == nil && found.CachedInfo().NumAckPending == 0
	})
	for _, name := range []string{outnats.Stream, events.Stream, events.DeadLetterStream} {
		err := streams.Ensure(t.Context(), js, jetstream.StreamConfig{Name: name, Replicas: 3})
		if _, answered := errors.AsType[*jetstream.APIError](err); !answered { // this broker has one server
			t.Errorf("raise the replicas of %s: %v", name, err)
		}
	}
	resendDeadLetter(t, host, log)
	if strings.Contains(strings.ToLower(log.String()), "permissions violation") {
		t.Errorf("the broker refuses something: %s", log)
	}

	if err := conn.Publish(events.Subject, nil); err != nil {
		t.Fatal(err)
	}
	testwait.Until(t, "the service may not send for the warehouse", func() bool {
		return strings.Contains(strings.ToLower(log.String()), "permissions violation")
	})
	if n := messagesIn(t, owner, events.Stream); n != 3 {
		t.Errorf("%d messages of the warehouse, want 3", n)
	}
}

// resendDeadLetter resends the only dead letter as the user of operators.
func resendDeadLetter(t *testing.T, host string, log *testlog.Buffer) {
	t.Helper()
	conn, _ := connectAs(t, "orders_operator", host, log)
	letters, err := events.OpenDeadLetters(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	letter, err := letters.GetMsg(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := letters.Resend(t.Context(), letter); err != nil {
		t.Error(err)
	}
}
