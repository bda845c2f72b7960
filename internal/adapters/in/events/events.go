// Package events is the way in for messages of other services, through NATS JetStream.
//
// A message is acknowledged after the transaction of its effect has committed, and the
// use case notes its id there: it may come any number of times, on any replica.
package events

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"example.com/orders/internal/core/order"
)

const (
	// Stream is where the warehouse's messages are.
	Stream = "WAREHOUSE"
	// Subject is that of the messages consumed.
	Subject = "warehouse.inventory.restocked"
	// DeadStream is where messages end that can never be done.
	DeadStream = "ORDERS_DLQ"
	// DeadSubject is that of the dead ones.
	DeadSubject = "orders.dlq.inventory.restocked"

	// durable names the consumer that all replicas share: each message goes to one of them.
	durable = "orders-restock"
	// workers is how many messages one replica works on at a time.
	workers = 4
	// workTimeout bounds one attempt.
	workTimeout = time.Minute
	// ackWait is when a message whose replica died is given to another one.
	ackWait = 30 * time.Second
	// setupTimeout bounds one request to the broker.
	setupTimeout = 5 * time.Second

	keepMessages = 7 * 24 * time.Hour
	keepDead     = 30 * 24 * time.Hour
)

// Config says what is consumed and what does it.
type Config struct {
	Conn *nats.Conn
	// Restock is the use case. A [core.Fault] is its refusal, every other error passes.
	Restock func(context.Context, order.Restock) error
	// AckWait replaces the usual 30 s when it is not zero.
	AckWait time.Duration
	Log     zerolog.Logger
}

// Consumer works on messages while Run runs.
type Consumer struct {
	Config
	js jetstream.JetStream
}

// New makes a consumer. Nothing is asked of the broker yet.
func New(cfg Config) (*Consumer, error) {
	if cfg.AckWait == 0 {
		cfg.AckWait = ackWait
	}
	js, err := jetstream.New(cfg.Conn)
	if err != nil {
		return nil, fmt.Errorf("use the broker: %w", err)
	}
	return &Consumer{cfg, js}, nil
}

// Run works on messages until ctx ends, and lets those in hand finish. A broker that is
// not there is waited for.
func (c *Consumer) Run(ctx context.Context) {
	for ctx.Err() == nil {
		err := c.consume(ctx)
		if ctx.Err() != nil {
			return
		}
		c.Log.Warn().Err(err).Msg("messages of the warehouse cannot be consumed")
		pause(ctx, time.Second+rand.N(time.Second))
	}
}

// consume works until something breaks that the connection does not mend by itself.
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

// work takes one message at a time: one that waited here behind another would count as
// taken, and its acknowledgement would be late.
func (c *Consumer) work(ctx context.Context, consumer jetstream.Consumer) error {
	messages, err := consumer.Messages(jetstream.PullMaxMessages(1))
	if err != nil {
		return fmt.Errorf("ask for messages: %w", err)
	}
	defer messages.Stop()
	for {
		msg, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return fmt.Errorf("wait for a message: %w", err)
		}
		c.handle(ctx, msg)
	}
}

// prepare makes what is missing. Streams that exist are left as their operators set them.
func (c *Consumer) prepare(ctx context.Context) (jetstream.Consumer, error) {
	ctx, cancel := context.WithTimeout(ctx, setupTimeout)
	defer cancel()
	if err := c.ensureStream(ctx, Stream, "warehouse.>", keepMessages); err != nil {
		return nil, err
	}
	if err := c.ensureStream(ctx, DeadStream, "orders.dlq.>", keepDead); err != nil {
		return nil, err
	}
	consumer, err := c.js.CreateOrUpdateConsumer(ctx, Stream, jetstream.ConsumerConfig{
		Durable: durable, FilterSubject: Subject,
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: c.AckWait,
		MaxDeliver: -1, // what passes is tried for ever, the rest does not come back
	})
	if err != nil {
		return nil, fmt.Errorf("prepare the consumer %s: %w", durable, err)
	}
	return consumer, nil
}

func (c *Consumer) ensureStream(ctx context.Context, name, subjects string, keep time.Duration) error {
	_, err := c.js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		_, err = c.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: name, Subjects: []string{subjects}, Storage: jetstream.FileStorage, MaxAge: keep,
		})
	}
	if err != nil && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another replica was faster
		return fmt.Errorf("prepare the stream %s: %w", name, err)
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
