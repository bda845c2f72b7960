package events

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/observe/panics"
	"example.com/orders/internal/observe/tracing"
)

// maxRetryDelay bounds the time between two deliveries.
const maxRetryDelay = time.Minute

// handle completes one delivery: the message is processed, dead-lettered, or
// redelivered later.
func (c *Consumer) handle(ctx context.Context, msg jetstream.Msg) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), processTimeout)
	defer cancel()
	ctx, span := c.startSpan(ctx, msg)
	outcome, err := c.finish(ctx, msg)
	tracing.End(span, err)
	if err != nil {
		outcome = "failed"
		c.retryLater(ctx, msg, err)
	}
	c.cfg.Ended(outcome)
}

// startSpan starts the span for one delivery in the trace of the message.
func (c *Consumer) startSpan(ctx context.Context, msg jetstream.Msg) (context.Context, trace.Span) {
	if c.cfg.Tracer == nil {
		return ctx, trace.SpanFromContext(ctx)
	}
	ctx, span := tracing.Continue(
		ctx, c.cfg.Tracer, msg.Headers().Get(tracing.Header), "process "+restockedType, trace.SpanKindConsumer)
	span.SetAttributes(
		attribute.String("messaging.system", "nats"), attribute.String("messaging.operation.type", "process"),
		attribute.String("messaging.destination.name", Subject))
	return ctx, span
}

// inTrace adds the trace ID to a log line.
func inTrace(ctx context.Context, line *zerolog.Event) *zerolog.Event {
	if id := tracing.ID(ctx); id != "" {
		line.Str("trace_id", id)
	}
	return line
}

// finish processes or dead-letters a message.
func (c *Consumer) finish(ctx context.Context, msg jetstream.Msg) (outcome string, err error) {
	meta, err := msg.Metadata()
	if err != nil {
		return "", fmt.Errorf("read the metadata of a message: %w", err)
	}
	stop := extendDeadline(msg, c.cfg.AckWait/3)
	outcome, err = c.process(ctx, message{msg.Headers(), msg.Data(), meta.Timestamp})
	stop()
	if bad, ok := errors.AsType[*unprocessable](err); ok {
		return "dead_letter", c.deadLetter(ctx, msg, meta, bad)
	}
	if err == nil {
		err = msg.Ack()
	}
	return outcome, err
}

// process runs the use case. It returns [unprocessable] for a message that will never be
// processed. It converts panics into errors: otherwise one message would end the process
// on each delivery.
func (c *Consumer) process(ctx context.Context, m message) (outcome string, err error) {
	defer panics.Catch(&err)
	cmd, err := decode(m)
	if err == nil {
		err = c.cfg.Restock(ctx, cmd)
	}
	fault, refused := errors.AsType[*core.Fault](err)
	switch {
	case errors.Is(err, order.ErrRestockedBefore):
		return "duplicate", nil
	case errors.Is(err, core.ErrForgotten):
		return "", &unprocessable{CodeForgotten, err.Error()}
	case refused:
		return "", refusal(fault)
	}
	return "processed", err
}

// extendDeadline extends the acknowledgement deadline until stop is called.
func extendDeadline(msg jetstream.Msg, every time.Duration) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				_ = msg.InProgress() // if it fails, the next tick is still in time
			case <-done:
				return
			}
		}
	}()
	return func() { close(done); <-ended }
}

func (c *Consumer) retryLater(ctx context.Context, msg jetstream.Msg, cause error) {
	deliveries := uint64(1)
	if meta, err := msg.Metadata(); err == nil {
		deliveries = meta.NumDelivered
	}
	delay := retryDelay(deliveries)
	inTrace(ctx, c.cfg.Log.Warn()).Err(cause).Uint64("deliveries", deliveries).Dur("delay", delay).
		Msg("message retried later")
	_ = msg.NakWithDelay(delay) // if it fails, the broker delivers again after AckWait
}

// retryDelay doubles with each delivery, from one second, with jitter so that failed
// messages do not return together.
func retryDelay(deliveries uint64) time.Duration {
	d := min(time.Second<<min(deliveries-1, 10), maxRetryDelay)
	return d/2 + rand.N(d/2)
}
