package app

import (
	"context"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"example.com/orders/internal/adapters/in/events"
	outnats "example.com/orders/internal/adapters/out/nats"
	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/config"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/outbox"
)

// messaging is what runs on the broker. It is nil where there is none; then events wait
// in the outbox.
type messaging struct {
	conn     *nats.Conn
	relay    *outbox.Relay
	consumer *events.Consumer
}

func connectBroker(cfg config.Config, db *postgres.DB, log zerolog.Logger) (*messaging, error) {
	if cfg.NATSURL == "" {
		return nil, nil
	}
	conn, err := outnats.Connect(cfg.NATSURL, log)
	if err != nil {
		return nil, err
	}
	publisher, err := outnats.NewPublisher(conn)
	if err != nil {
		conn.Close()
		return nil, err
	}
	stock := &order.Service{Store: db.Orders()}
	consumer, err := events.New(events.Config{Conn: conn, Restock: stock.Restock, Log: log})
	if err != nil {
		conn.Close()
		return nil, err
	}
	relay := &outbox.Relay{Store: db.Outbox(), Publisher: publisher, Log: log}
	return &messaging{conn, relay, consumer}, nil
}

// start relays and consumes until ctx ends. The function it gives waits for the end.
func (m *messaging) start(ctx context.Context) (wait func()) {
	if m == nil {
		return func() {}
	}
	var running sync.WaitGroup
	running.Go(func() { m.relay.Run(ctx) })
	running.Go(func() { m.consumer.Run(ctx) })
	return running.Wait
}

func (m *messaging) close() {
	if m != nil {
		m.conn.Close()
	}
}
