package events_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"example.com/orders/internal/adapters/in/events"
	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	devbroker "example.com/orders/internal/dev/broker"
	natstest "example.com/orders/internal/test/nats"
	pgtest "example.com/orders/internal/test/pg"
	testwait "example.com/orders/internal/test/wait"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var eventually = testwait.Until

// warehouse is a broker and the sender of messages.
type warehouse struct {
	*devbroker.Broker
	jetstream.JetStream
}

func newWarehouse(t *testing.T) warehouse {
	t.Helper()
	broker := natstest.New(t)
	return warehouse{broker, natstest.JetStream(t, broker)}
}

// consume starts a replica that calls the use case, and returns when it is ready.
func (w warehouse) consume(t *testing.T, restock func(context.Context, order.Restock) error, ackWait time.Duration) replica {
	t.Helper()
	return w.consumeOn(t, natstest.Connect(t, w.Broker), restock, ackWait)
}

func (w warehouse) consumeOn(
	t *testing.T, conn *nats.Conn, restock func(context.Context, order.Restock) error, ackWait time.Duration,
) replica {
	t.Helper()
	consumer, err := events.New(events.Config{Conn: conn, Restock: restock, AckWait: ackWait, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := replica{cancel, make(chan struct{})}
	go func() { defer close(r.ended); consumer.Run(ctx) }()
	t.Cleanup(r.stop)
	eventually(t, "the consumer is ready", func() bool {
		_, err := w.Consumer(ctx, events.Stream, "orders-restock")
		return err == nil
	})
	return r
}

// replica is a consumer that runs.
type replica struct {
	cancel context.CancelFunc
	ended  chan struct{}
}

func (r replica) stop() { r.cancel(); <-r.ended }

// send publishes a message as it is.
func (w warehouse) send(t *testing.T, body string, options ...jetstream.PublishOpt) {
	t.Helper()
	if _, err := w.Publish(t.Context(), events.Subject, []byte(body), options...); err != nil {
		t.Fatal(err)
	}
}

// awaitDone waits until every message is acknowledged or dead, and gives the number of
// deliveries it took.
func (w warehouse) awaitDone(t *testing.T) uint64 {
	t.Helper()
	var delivered uint64
	eventually(t, "all messages are done", func() bool {
		stream, err := w.Stream(t.Context(), events.Stream)
		if err != nil {
			return false
		}
		consumer, err := stream.Consumer(t.Context(), "orders-restock")
		if err != nil {
			return false
		}
		info := consumer.CachedInfo()
		delivered = info.Delivered.Consumer
		return info.AckFloor.Stream == stream.CachedInfo().State.LastSeq
	})
	return delivered
}

// shop is the service with a product on sale.
type shop struct {
	*order.Service
	db *postgres.DB
}

func openShop(t *testing.T, url string) shop {
	t.Helper()
	db, err := postgres.Open(t.Context(), postgres.Config{URL: url, MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return shop{&order.Service{Store: db.Orders(), ReservationTTL: time.Minute}, db}
}

var seller = core.Actor{Subject: "shop", Roles: []core.Role{core.Seller}}

func (s shop) sell(t *testing.T, sku string) {
	t.Helper()
	price, err := core.ParseMoney("1.00", "RUB")
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = s.PutProduct(t.Context(), seller, order.PutProduct{SKU: sku, Name: sku, Price: price})
	if err != nil {
		t.Fatal(err)
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
