package app

import (
	"context"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"example.com/orders/internal/adapters/in/events"
	outnats "example.com/orders/internal/adapters/out/nats"
	"example.com/orders/internal/config"
	"example.com/orders/internal/outbox"
)

// broker exchanges events with other services. If no broker is configured, it is empty,
// and events wait in the outbox unless a separate program publishes them.
type broker struct {
	conn     *nats.Conn
	relay    *outbox.Relay
	consumer *events.Consumer
}

// ConnectBroker connects a client to the broker; see [outnats.Connect].
func ConnectBroker(client string, cfg config.Config, log zerolog.Logger) (*nats.Conn, error) {
	return outnats.Connect(client, strings.Join(cfg.NATSURLs, ","), cfg.NATSCredentials, log)
}

func (a *App) connectBroker(core useCases, cfg config.Config) (*broker, error) {
	b := &broker{}
	if cfg.Outbox == config.ExternalOutbox {
		b.relay = &outbox.Relay{Store: a.jobDB.Outbox(), Publisher: outbox.External{}, Log: a.log}
	}
	if len(cfg.NATSURLs) == 0 {
		return b, nil
	}
	conn, err := ConnectBroker(outnats.Service, cfg, a.log)
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
	if b.relay == nil {
		b.relay = &outbox.Relay{
			Store: a.jobDB.Outbox(), Publisher: publisher, Log: a.log,
			Published: a.metrics.EventsPublished, Failed: a.metrics.PublishFailed,
		}
	}
	b.conn, b.consumer = conn, consumer
	return b, nil
}

// start relays and consumes events until ctx ends. wait blocks until both have ended.
func (b *broker) start(ctx context.Context) (wait func()) {
	var running sync.WaitGroup
	if b.relay != nil {
		running.Go(func() { b.relay.Run(ctx) })
	}
	if b.consumer != nil {
		running.Go(func() { b.consumer.Run(ctx) })
	}
	return running.Wait
}

func (b *broker) close() {
	if b != nil && b.conn != nil {
		b.conn.Close()
	}
}
