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
	"example.com/orders/internal/outbox"
	"example.com/orders/internal/telemetry"
)

// broker exchanges events with other services. It is nil where no broker is configured;
// then events wait in the outbox.
type broker struct {
	conn     *nats.Conn
	relay    *outbox.Relay
	consumer *events.Consumer
}

func connectBroker(core useCases, db *postgres.DB, metrics *telemetry.Metrics, cfg config.Config, log zerolog.Logger) (*broker, error) {
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
	metrics.Broker(conn.IsConnected)
	consumer, err := events.New(events.Config{
		Conn: conn, Restock: core.orders.Restock, Ended: metrics.MessageEnded, Log: log,
	})
	if err != nil {
		conn.Close()
		return nil, err
	}
	relay := &outbox.Relay{
		Store: db.Outbox(), Publisher: publisher, Log: log,
		Published: metrics.EventsPublished, Failed: metrics.PublishFailed,
	}
	return &broker{conn, relay, consumer}, nil
}

// start relays and consumes events until ctx ends. The function that it returns waits
// until both have ended.
func (b *broker) start(ctx context.Context) (wait func()) {
	if b == nil {
		return func() {}
	}
	var running sync.WaitGroup
	running.Go(func() { b.relay.Run(ctx) })
	running.Go(func() { b.consumer.Run(ctx) })
	return running.Wait
}

func (b *broker) close() {
	if b != nil {
		b.conn.Close()
	}
}
