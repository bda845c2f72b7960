// Package events consumes messages from other services over NATS JetStream.
//
// A message is acknowledged after the effect has committed, and the use case stores the
// message id in that transaction. So a message may be delivered any number of times, to
// any replica, and has one effect.
package events

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"

	"example.com/orders/internal/adapters/streams"
	"example.com/orders/internal/core/order"
)

const (
	// Stream holds the warehouse messages.
	Stream = "WAREHOUSE"
	// Subject is the consumed subject.
	Subject = "warehouse.inventory.restocked"
	// DeadLetterStream holds messages that can never be processed.
	DeadLetterStream = "ORDERS_DLQ"
	// DeadLetterSubject is the subject for dead letters.
	DeadLetterSubject = "orders.dlq.inventory.restocked"

	// durable names the consumer shared by all replicas: the broker delivers each
	// message to one of them.
	durable = "orders-restock"
	// workers is the number of concurrent messages per replica.
	workers        = 4
	processTimeout = time.Minute
	// ackWait is how long the broker waits for an acknowledgement or a progress signal
	// before it redelivers the message.
	ackWait = 30 * time.Second
	// heartbeat is how often the broker confirms a pending fetch. It forgets fetches
	// when the stream leader changes; after two missed heartbeats the fetch is
	// repeated.
	heartbeat    = 2 * time.Second
	setupTimeout = 5 * time.Second

	// Retention for streams that this process creates.
	keepMessages    = 7 * 24 * time.Hour
	keepDeadLetters = 30 * 24 * time.Hour
)

// Config configures a [Consumer].
type Config struct {
	Conn *nats.Conn
	// Restock is the use case. On [order.ErrRestockedBefore] the message is also done.
	// A [core.Fault] and [core.ErrForgotten] mean that it can never be processed; any
	// other error leads to redelivery.
	Restock func(context.Context, order.Restock) error
	// Replicas is the number of broker servers that keep each message; 0 means 1.
	Replicas int
	// AckWait defaults to 30 s.
	AckWait time.Duration
	Log     zerolog.Logger
	// Ended receives each delivery's outcome; nil disables it.
	Ended func(outcome string)
	// Tracer is nil if tracing is off.
	Tracer trace.Tracer
}

// Consumer applies warehouse messages to the stock.
type Consumer struct {
	cfg Config
	js  jetstream.JetStream
}

// New returns a consumer. It does not contact the broker.
func New(cfg Config) (*Consumer, error) {
	cfg.AckWait = cmp.Or(cfg.AckWait, ackWait)
	if cfg.Ended == nil {
		cfg.Ended = func(string) {}
	}
	js, err := jetstream.New(cfg.Conn)
	if err != nil {
		return nil, fmt.Errorf("open jetstream: %w", err)
	}
	return &Consumer{cfg, js}, nil
}

// Run processes messages until ctx ends, and completes those in progress. It retries
// while the broker is down.
func (c *Consumer) Run(ctx context.Context) {
	for ctx.Err() == nil {
		err := c.consume(ctx)
		if ctx.Err() != nil {
			return
		}
		c.cfg.Log.Warn().Err(err).Str("stream", Stream).Msg("message consumer failed")
		sleep(ctx, time.Second+rand.N(time.Second))
	}
}

// consume processes messages until an error that reconnecting does not repair.
func (c *Consumer) consume(ctx context.Context) error {
	consumer, err := c.prepare(ctx)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return c.answerRetries(ctx) })
	for range workers {
		group.Go(func() error { return c.work(ctx, consumer) })
	}
	return group.Wait()
}

// work fetches one message at a time. A fetched message counts as delivered, so a queue
// here would exceed acknowledgement deadlines.
func (c *Consumer) work(ctx context.Context, consumer jetstream.Consumer) error {
	messages, err := consumer.Messages(jetstream.PullMaxMessages(1), jetstream.PullHeartbeat(heartbeat))
	if err != nil {
		return fmt.Errorf("subscribe to messages: %w", err)
	}
	defer messages.Stop()
	for {
		msg, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return fmt.Errorf("fetch a message: %w", err)
		}
		c.handle(ctx, msg)
	}
}

// prepare creates missing streams and the consumer, which has as many replicas as the
// stream.
func (c *Consumer) prepare(ctx context.Context) (jetstream.Consumer, error) {
	ctx, cancel := context.WithTimeout(ctx, setupTimeout)
	defer cancel()
	for _, stream := range []jetstream.StreamConfig{
		{Name: Stream, Subjects: []string{"warehouse.>"}, MaxAge: keepMessages},
		{Name: DeadLetterStream, Subjects: []string{"orders.dlq.>"}, MaxAge: keepDeadLetters},
	} {
		stream.Storage, stream.Replicas = jetstream.FileStorage, c.cfg.Replicas
		if err := streams.Ensure(ctx, c.js, stream); err != nil {
			return nil, err
		}
	}
	consumer, err := c.js.CreateOrUpdateConsumer(ctx, Stream, jetstream.ConsumerConfig{
		Durable: durable, FilterSubject: Subject,
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: c.cfg.AckWait,
		MaxDeliver: -1, // no limit: deadLetter ends messages that can never be processed
	})
	if err != nil {
		return nil, fmt.Errorf("prepare consumer %s: %w", durable, err)
	}
	return consumer, nil
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
