package events_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"example.com/orders/internal/adapters/in/events"
	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	devbroker "example.com/orders/internal/dev/broker"
	testlog "example.com/orders/internal/test/log"
	natstest "example.com/orders/internal/test/nats"
	pgtest "example.com/orders/internal/test/pg"
	testwait "example.com/orders/internal/test/wait"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// durable is the name of the consumer that all replicas share.
const durable = "orders-restock"

// usualAckWait leaves the acknowledgement deadline at its default.
const usualAckWait = 0

// The data of an event about tea.
const (
	oneTea   = `"sku":"tea","quantity":1`
	fiveTeas = `"sku":"tea","quantity":5`
)

type restockFunc func(context.Context, order.Restock) error

// warehouse is the sender of messages, with a broker.
type warehouse struct {
	broker   *devbroker.Broker
	js       jetstream.JetStream
	replicas int // of the streams
	log      *testlog.Buffer
}

func newWarehouse(t *testing.T) warehouse {
	t.Helper()
	broker := natstest.New(t)
	return warehouse{broker: broker, js: natstest.JetStream(t, broker), log: &testlog.Buffer{}}
}

// restocked returns an event of the warehouse with this id and these members of its data.
func restocked(id, data string) string {
	return restockedBy("/warehouse/1", id, data)
}

// restockedBy returns an event of another source.
func restockedBy(source, id, data string) string {
	return fmt.Sprintf(`{"specversion":"1.0","id":%q,"source":%q,"type":"inventory.restocked","data":{%s}}`, id, source, data)
}

// send publishes a message with this body.
func (w warehouse) send(t *testing.T, body string, options ...jetstream.PublishOpt) {
	t.Helper()
	if _, err := w.js.Publish(t.Context(), events.Subject, []byte(body), options...); err != nil {
		t.Fatal(err)
	}
}

// replica is a running consumer.
type replica struct {
	cancel context.CancelFunc
	ended  chan struct{}
}

// stop ends the consumer and returns when it has ended.
func (r replica) stop() { r.cancel(); <-r.ended }

// startReplica starts a consumer that calls restock, and returns when it is ready.
func (w warehouse) startReplica(t *testing.T, restock restockFunc, ackWait time.Duration) replica {
	t.Helper()
	return w.startReplicaOn(t, natstest.Connect(t, w.broker), restock, ackWait)
}

// startReplicaOn is startReplica on a connection that the test may close.
func (w warehouse) startReplicaOn(
	t *testing.T, conn *nats.Conn, restock restockFunc, ackWait time.Duration,
) replica {
	t.Helper()
	consumer, err := events.New(events.Config{
		Conn: conn, Restock: restock, Replicas: w.replicas, AckWait: ackWait, Log: zerolog.New(w.log),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := replica{cancel, make(chan struct{})}
	go func() { defer close(r.ended); consumer.Run(ctx) }()
	t.Cleanup(r.stop)
	testwait.Until(t, "the consumer is ready", func() bool {
		_, err := w.js.Consumer(ctx, events.Stream, durable)
		return err == nil
	})
	return r
}

// awaitAllDone waits until every message is processed or dead-lettered, and returns the
// number of deliveries.
func (w warehouse) awaitAllDone(t *testing.T) uint64 {
	t.Helper()
	var deliveries uint64
	testwait.Until(t, "all messages are done", func() bool {
		stream, err := w.js.Stream(t.Context(), events.Stream)
		if err != nil {
			return false
		}
		consumer, err := stream.Consumer(t.Context(), durable)
		if err != nil {
			return false
		}
		info := consumer.CachedInfo()
		deliveries = info.Delivered.Consumer
		return info.AckFloor.Stream == stream.CachedInfo().State.LastSeq
	})
	return deliveries
}

// deadLetters returns the messages of the dead-letter stream.
func (w warehouse) deadLetters(t *testing.T) []*jetstream.RawStreamMsg {
	t.Helper()
	stream, err := w.js.Stream(t.Context(), events.DeadLetterStream)
	if err != nil {
		t.Fatal(err)
	}
	var letters []*jetstream.RawStreamMsg
	for seq := uint64(1); seq <= stream.CachedInfo().State.LastSeq; seq++ {
		msg, err := stream.GetMsg(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		letters = append(letters, msg)
	}
	return letters
}

// shop is the order service on a database of its own.
type shop struct {
	orders *order.Service
	db     *postgres.DB
	url    string // of the owner
}

func newShop(t *testing.T) shop {
	t.Helper()
	return openShop(t, pgtest.New(t))
}

// openShop opens a replica of the service on a database that exists.
func openShop(t *testing.T, url string) shop {
	t.Helper()
	db, err := postgres.Open(t.Context(), postgres.Config{URL: pgtest.AsService(t, url), MaxConns: 4}, postgres.Groups{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return shop{&order.Service{Store: db.Orders(), ReservationTTL: time.Minute}, db, url}
}

// restock is the use case that a consumer calls.
func (s shop) restock(ctx context.Context, cmd order.Restock) error {
	return s.orders.Restock(ctx, cmd)
}

// addProduct adds a product without stock.
func (s shop) addProduct(t *testing.T, sku string) {
	t.Helper()
	price, err := core.ParseMoney("1.00", "RUB")
	if err != nil {
		t.Fatal(err)
	}
	seller := core.Actor{Subject: "shop", Roles: []core.Role{core.Seller}}
	_, _, err = s.orders.PutProduct(t.Context(), seller, order.PutProduct{SKU: sku, Name: sku, Price: price, OnHand: new(int64(0))})
	if err != nil {
		t.Fatal(err)
	}
}

// wantUnprocessed checks that a message which arrives in another way is still new.
func (s shop) wantUnprocessed(t *testing.T, source, id string) {
	t.Helper()
	err := s.db.Orders().InTx(t.Context(), func(ctx context.Context, tx order.Tx) error {
		known, _, err := tx.Inbox.Recall(ctx, source, id)
		if known {
			t.Errorf("message %s of %s counts as processed", id, source)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// forget moves the database clock 31 days ahead of all messages, and lets the clean-up run.
func (s shop) forget(t *testing.T) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if _, err := conn.Exec(t.Context(), `UPDATE processed_message SET processed_at = processed_at - interval '31 days'`); err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.DeleteOldMessages(t.Context(), 100); err != nil {
		t.Fatal(err)
	}
}

// wantOnHand checks the stock of a product.
func (s shop) wantOnHand(t *testing.T, sku string, want int64) {
	t.Helper()
	if got := s.onHand(t, sku); got != want {
		t.Errorf("%d of %s on hand, want %d", got, sku, want)
	}
}

func (s shop) onHand(t *testing.T, sku string) int64 {
	t.Helper()
	var n int64
	err := s.db.Orders().InTx(t.Context(), func(ctx context.Context, tx order.Tx) error {
		p, err := tx.Products.Get(ctx, sku)
		if err == nil {
			n = p.OnHand
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
