// Package events consumes messages of other services from NATS JetStream.
//
// A message is acknowledged after the transaction of its effect has committed, and the
// use case stores its id in that transaction. So a message may be delivered any number
// of times, to any replica, and has its effect once.
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

	"example.com/orders/internal/core/order"
	"example.com/orders/internal/streams"
)

const (
	// Stream has the messages of the warehouse.
	Stream = "WAREHOUSE"
	// Subject is that of the messages that we consume.
	Subject = "warehouse.inventory.restocked"
	// DeadLetterStream has the messages that can never be processed.
	DeadLetterStream = "ORDERS_DLQ"
	// DeadLetterSubject is that of our dead letters.
	DeadLetterSubject = "orders.dlq.inventory.restocked"

	// durable names the consumer that all replicas share: the broker delivers each
	// message to one of them.
	durable = "orders-restock"
	// workers is how many messages a replica processes at a time.
	workers = 4
	// processTimeout bounds one attempt to process a message.
	processTimeout = time.Minute
	// ackWait is how long the broker waits for an acknowledgement, or a sign that the
	// work goes on, before it delivers the message to another replica.
	ackWait = 30 * time.Second
	// heartbeat is how often the broker reports that it still has our request for a message.
	// It has forgotten the request after a change of the stream's leader, and the request
	// is repeated when two reports are missing.
	heartbeat = 2 * time.Second
	// setupTimeout bounds the preparation of streams and consumer.
	setupTimeout = 5 * time.Second

	// How long the streams keep messages, if we have to create them.
	keepMessages    = 7 * 24 * time.Hour
	keepDeadLetters = 30 * 24 * time.Hour
)

// Config says what processes the messages.
type Config struct {
	Conn *nats.Conn
	// Restock is the use case. After [order.ErrRestockedBefore] the message is done, too. A
	// [core.Fault] means that it can never be processed; after any other error it is
	// delivered again.
	Restock func(context.Context, order.Restock) error
	// Replicas is how many servers of the broker keep each message; 0 means 1.
	Replicas int
	// AckWait defaults to 30 s.
	AckWait time.Duration
	Log     zerolog.Logger
	// Ended is called with what became of a delivery; nil for nobody.
	Ended func(outcome string)
	// Tracer is nil where nothing is traced.
	Tracer trace.Tracer
}

// Consumer processes messages while Run runs.
type Consumer struct {
	cfg Config
	js  jetstream.JetStream
}

// New returns a consumer. It sends nothing to the broker yet.
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

// Run processes messages until ctx ends, and finishes those that it has begun. While
// the broker is down, it tries again.
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
	for range workers {
		group.Go(func() error { return c.work(ctx, consumer) })
	}
	return group.Wait()
}

// work fetches one message at a time. The broker counts a fetched message as delivered,
// so one that waited here behind another would run into its acknowledgement deadline.
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

// prepare creates the streams and the consumer where they are missing. The consumer has
// as many replicas as its stream.
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
		MaxDeliver: -1, // no limit: what can never be processed we dead-letter ourselves
	})
	if err != nil {
		return nil, fmt.Errorf("prepare consumer %s: %w", durable, err)
	}
	return consumer, nil
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
