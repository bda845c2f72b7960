package app

import (
	"context"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"

	"example.com/orders/internal/adapters/in/events"
	outnats "example.com/orders/internal/adapters/out/nats"
	"example.com/orders/internal/config"
	"example.com/orders/internal/outbox"
)

// broker exchanges events with other services. It is nil where no broker is configured;
// then events wait in the outbox.
type broker struct {
	conn     *nats.Conn
	relay    *outbox.Relay
	consumer *events.Consumer
}

func (a *App) connectBroker(core useCases, cfg config.Config) (*broker, error) {
	if len(cfg.NATSURLs) == 0 {
		return nil, nil
	}
	conn, err := outnats.Connect(strings.Join(cfg.NATSURLs, ","), a.log)
	if err != nil {
		return nil, err
	}
	publisher, err := outnats.NewPublisher(conn)
	if err != nil {
		conn.Close()
		return nil, err
	}
	a.metrics.Broker(conn.IsConnected)
	publisher.Tracer, publisher.Replicas = a.traces.Tracer(), cfg.NATSReplicas
	consumer, err := events.New(events.Config{
		Conn: conn, Restock: core.orders.Restock, Replicas: cfg.NATSReplicas, Log: a.log,
		Ended: a.metrics.MessageEnded, Tracer: a.traces.Tracer(),
	})
	if err != nil {
		conn.Close()
		return nil, err
	}
	relay := &outbox.Relay{
		Store: a.jobDB.Outbox(), Publisher: publisher, Log: a.log,
		Published: a.metrics.EventsPublished, Failed: a.metrics.PublishFailed,
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
