package nats

import (
	"context"
	"errors"
	"fmt"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"example.com/orders/internal/adapters/streams"
	"example.com/orders/internal/observe/tracing"
	"example.com/orders/internal/outbox"
)

const (
	// Stream keeps the events for consumers.
	Stream = "ORDERS"
	// SubjectPrefix and the event type form the subject.
	SubjectPrefix = "orders.events."

	// keepFor is how long a consumer may be away without missing an event.
	keepFor = 7 * 24 * time.Hour
	// duplicateWindow is how long the broker remembers event ids and drops duplicates.
	// Later, consumers have to deduplicate by id.
	duplicateWindow = 2 * time.Minute
	// ackTimeout bounds the wait for one acknowledgement.
	ackTimeout = 5 * time.Second
	// maxPending bounds the unacknowledged events.
	maxPending = 1000
)

// Publisher publishes events to JetStream. It implements [outbox.Publisher]. It is not
// safe for concurrent use.
type Publisher struct {
	// Tracer is nil without tracing.
	Tracer trace.Tracer
	// Replicas is the number of broker servers that keep each event; 0 means 1.
	Replicas int

	js          jetstream.JetStream
	streamReady bool // the stream existed at the last check
}

// NewPublisher returns a publisher on conn.
func NewPublisher(conn *client.Conn) (*Publisher, error) {
	js, err := jetstream.New(conn,
		jetstream.WithPublishAsyncTimeout(ackTimeout),
		jetstream.WithPublishAsyncMaxPending(maxPending))
	if err != nil {
		return nil, fmt.Errorf("open jetstream: %w", err)
	}
	return &Publisher{js: js}, nil
}

// Publish sends events, those of one aggregate in order, and returns the acknowledged
// ids. After an error the other events may have arrived or not; the caller sends them
// again, and the broker drops duplicates by id.
//
// An acknowledgement can get lost while a later one arrives. So Publish sends an
// aggregate's next event only after the previous one is acknowledged. Events of
// different aggregates are sent together.
func (p *Publisher) Publish(ctx context.Context, events []outbox.Event) (acked []string, err error) {
	if err := streams.CheckConnection(p.js.Conn()); err != nil {
		return nil, err
	}
	if err := p.ensureStream(ctx); err != nil {
		return nil, err
	}
	for _, round := range rounds(events) {
		ids, err := p.publishRound(ctx, round)
		acked = append(acked, ids...)
		if err != nil {
			p.streamReady = false // the stream may be gone: check next time
			return acked, err
		}
	}
	return acked, nil
}

// ensureStream prepares the stream, unless it did so since the last failure.
func (p *Publisher) ensureStream(ctx context.Context) error {
	if p.streamReady {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, ackTimeout)
	defer cancel()
	err := streams.Ensure(ctx, p.js, jetstream.StreamConfig{
		Name: Stream, Subjects: []string{SubjectPrefix + ">"}, Replicas: p.Replicas,
		Storage: jetstream.FileStorage, MaxAge: keepFor, Duplicates: duplicateWindow,
	})
	p.streamReady = err == nil
	return err
}

// rounds splits events so that each round has at most one event per aggregate: first
// the first events of all aggregates, then the second ones, and so on.
func rounds(events []outbox.Event) [][]outbox.Event {
	var split [][]outbox.Event
	seen := make(map[string]int)
	for _, e := range events {
		n := seen[e.Aggregate]
		seen[e.Aggregate]++
		if n == len(split) {
			split = append(split, nil)
		}
		split[n] = append(split[n], e)
	}
	return split
}

// publishRound sends all events, then waits for all acknowledgements.
func (p *Publisher) publishRound(ctx context.Context, events []outbox.Event) (acked []string, err error) {
	acks := make([]sent, len(events))
	for i, e := range events {
		ack, sendErr := p.send(e)
		if sendErr != nil {
			acks, err = acks[:i], sendErr
			break
		}
		acks[i] = ack
	}
	var unacked error // the first one; the rest fail for the same reason
	for i, ack := range acks {
		ackErr := await(ctx, ack)
		tracing.End(ack.span, ackErr)
		if ackErr == nil {
			acked = append(acked, events[i].ID)
		} else if unacked == nil {
			unacked = fmt.Errorf("publish event %s: %w", events[i].ID, ackErr)
		}
	}
	if err = errors.Join(err, unacked); err != nil {
		err = fmt.Errorf("%d of %d events acknowledged: %w", len(acked), len(events), err)
	}
	return acked, err
}

// sent is a message that awaits its acknowledgement.
type sent struct {
	jetstream.PubAckFuture
	span trace.Span
}

// send sends an event. Its message continues the event's trace.
func (p *Publisher) send(e outbox.Event) (sent, error) {
	msg, err := encode(e)
	if err != nil {
		return sent{}, err
	}
	ctx, span := p.startSpan(e)
	if parent := tracing.Parent(ctx); parent != "" {
		msg.Header.Set(tracing.Header, parent)
	}
	ack, err := p.js.PublishMsgAsync(msg,
		jetstream.WithMsgID(e.ID), jetstream.WithExpectStream(Stream))
	if err != nil {
		tracing.End(span, err)
		return sent{}, fmt.Errorf("publish event %s: %w", e.ID, err)
	}
	return sent{ack, span}, nil
}

// startSpan starts a span if the event belongs to a trace.
func (p *Publisher) startSpan(e outbox.Event) (context.Context, trace.Span) {
	ctx := tracing.WithParent(context.Background(), e.Traceparent)
	if p.Tracer == nil || tracing.ID(ctx) == "" {
		return ctx, trace.SpanFromContext(ctx)
	}
	ctx, span := tracing.Continue(ctx, p.Tracer, e.Traceparent, "publish "+e.Type, trace.SpanKindProducer)
	span.SetAttributes(
		attribute.String("messaging.system", "nats"), attribute.String("messaging.operation.type", "send"),
		attribute.String("messaging.destination.name", SubjectPrefix+e.Type), attribute.String("messaging.message.id", e.ID))
	return ctx, span
}

// await waits for one acknowledgement. The broker also acknowledges duplicates.
func await(ctx context.Context, ack sent) error {
	select {
	case <-ack.Ok():
		return nil
	case err := <-ack.Err():
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func encode(e outbox.Event) (*client.Msg, error) {
	body, err := e.CloudEvent()
	if err != nil {
		return nil, err
	}
	msg := client.NewMsg(SubjectPrefix + e.Type)
	msg.Header.Set("content-type", outbox.ContentType)
	msg.Data = body
	return msg, nil
}
