package docs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"example.com/orders/internal/adapters/in/events"
	outnats "example.com/orders/internal/adapters/out/nats"
	"example.com/orders/internal/adapters/streams"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/outbox"
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
	conn, err := outnats.Connect(user, "nats://"+user+":word@"+host, "", zerolog.New(log))
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
		t.Fatalf("publish an event: %v", err)
	}
}

// restockMessage returns a message of the warehouse.
func restockMessage(id, sku string) string {
	return `{"specversion":"1.0","id":"` + id + `","source":"/w","type":"inventory.restocked","data":{"sku":"` + sku + `","quantity":1}}`
}

// consumeAs runs the consumer of the service. It refuses the first message about each
// product.
func consumeAs(t *testing.T, conn *nats.Conn, log *testlog.Buffer) {
	t.Helper()
	known := map[string]bool{}
	var mu sync.Mutex
	consumer, err := events.New(events.Config{Conn: conn, Log: zerolog.New(log), Restock: func(_ context.Context, cmd order.Restock) error {
		mu.Lock()
		defer mu.Unlock()
		if !known[cmd.SKU] {
			known[cmd.SKU] = true
			return core.NotFound("product")
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	natstest.Run(t, consumer.Run)
}

func TestOperate_BrokerUsersHaveThePermissionsThatTheyNeed(t *testing.T) {
	host, log := startDocumentedBroker(t), &testlog.Buffer{}
	conn, js := connectAs(t, outnats.Service, host, log)
	_, owner := connectAs(t, "owner", host, log)
	consumeAs(t, conn, log)
	publish(t, conn)
	for _, body := range []string{restockMessage("1", "tea"), restockMessage("1", "tea"), "unreadable"} {
		testwait.Until(t, "the warehouse's message is stored", func() bool {
			_, err := owner.Publish(t.Context(), events.Subject, []byte(body))
			return err == nil
		})
	}
	testwait.Until(t, "two messages are dead-lettered", func() bool { return messagesIn(t, owner, events.DeadLetterStream) == 2 })
	testwait.Until(t, "all messages are acknowledged", func() bool {
		found, err := owner.Consumer(t.Context(), events.Stream, "orders-restock")
		return err == nil && found.CachedInfo().NumAckPending == 0
	})
	for _, name := range []string{outnats.Stream, events.Stream, events.DeadLetterStream} {
		err := streams.Ensure(t.Context(), js, jetstream.StreamConfig{Name: name, Replicas: 3})
		if _, answered := errors.AsType[*jetstream.APIError](err); !answered { // this broker has one server
			t.Errorf("raise the replicas of %s: %v", name, err)
		}
	}
	repairDeadLetters(t, host, log)
	if n := messagesIn(t, owner, events.DeadLetterStream); n != 0 {
		t.Errorf("%d dead letters are left", n)
	}
	if strings.Contains(strings.ToLower(log.String()), "permissions violation") {
		t.Errorf("the broker refuses something: %s", log)
	}
}

// repairDeadLetters retries the letter about tea and discards the other one, as the user of
// operators.
func repairDeadLetters(t *testing.T, host string, log *testlog.Buffer) {
	t.Helper()
	conn, _ := connectAs(t, outnats.Operators, host, log)
	letters, err := events.OpenDeadLetters(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	for sequence := range uint64(2) {
		letter, err := letters.GetMsg(t.Context(), sequence+1)
		if err == nil && string(letter.Data) == "unreadable" {
			err = letters.DeleteMsg(t.Context(), letter.Sequence)
		} else if err == nil {
			err = letters.Retry(t.Context(), letter.Sequence)
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// What a user of the broker must not do.
var refusedSubjects = map[string]struct{ subscribe, publish []string }{
	outnats.Service: {
		subscribe: []string{"_INBOX.>", "_INBOX.orders_operator.>", "_INBOX.*.*", ">", "orders.>", "warehouse.>"},
		publish:   []string{events.Subject, "_INBOX.orders_operator.1", "warehouse.more", "$JS.API.STREAM.DELETE.ORDERS", "$JS.API.STREAM.PURGE.ORDERS_DLQ"},
	},
	outnats.Operators: {
		subscribe: []string{"_INBOX.>", "_INBOX.orders.>", "_INBOX.*.*", ">", "orders.>", events.RetrySubject, "warehouse.>"},
		publish: []string{events.Subject, events.DeadLetterSubject, outnats.SubjectPrefix + "order.paid", "_INBOX.orders.1",
			"warehouse.more", "$JS.API.STREAM.CREATE.ORDERS", "$JS.API.STREAM.PURGE.ORDERS_DLQ", "$JS.ACK.WAREHOUSE.orders-restock.1.1.1.1.0"},
	},
}

func TestOperate_BrokerUsersAreKeptApart(t *testing.T) {
	host := startDocumentedBroker(t)
	for user, refused := range refusedSubjects {
		log := &testlog.Buffer{}
		conn, _ := connectAs(t, user, host, log)
		wantViolation := func(action, subject string, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			line := fmt.Sprintf(`permissions violation for %s to \"%s\"`, action, subject)
			testwait.Until(t, user+" may not "+action+" to "+subject, func() bool {
				return strings.Contains(strings.ToLower(log.String()), strings.ToLower(line))
			})
		}
		for _, subject := range refused.subscribe {
			_, err := conn.SubscribeSync(subject)
			wantViolation("subscription", subject, err)
		}
		for _, subject := range refused.publish {
			wantViolation("publish", subject, conn.Publish(subject, nil))
		}
	}
}
