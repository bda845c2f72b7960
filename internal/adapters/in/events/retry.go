package events

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"example.com/orders/internal/adapters/streams"
)

// RetrySubject takes requests to process a dead letter again. A request contains the
// sequence of the letter instead of the message, so that the sender cannot invent
// stock.
const RetrySubject = "orders.retry.inventory.restocked"

// retryTimeout is how long a request waits for the answer.
const retryTimeout = processTimeout + 5*time.Second

// answerRetries answers requests, one at a time. Each goes to one replica.
func (c *Consumer) answerRetries(ctx context.Context) error {
	requests, err := c.cfg.Conn.QueueSubscribeSync(RetrySubject, durable)
	if err != nil {
		return fmt.Errorf("subscribe to retries: %w", err)
	}
	defer func() { _ = requests.Unsubscribe() }() // fails on a closed connection only
	for {
		request, err := requests.NextMsgWithContext(ctx)
		if err != nil {
			return fmt.Errorf("wait for a retry: %w", err)
		}
		answer := ""
		if err := c.retry(ctx, string(request.Data)); err != nil {
			answer = err.Error()
		}
		_ = request.Respond([]byte(answer)) // otherwise the wait of the operator ends
	}
}

// retry processes the message in a dead letter and then deletes the letter. The time of
// the letter counts as that of the message: an earlier retry may be forgotten.
func (c *Consumer) retry(ctx context.Context, sequence string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), processTimeout)
	defer cancel()
	number, err := strconv.ParseUint(sequence, 10, 64)
	if err != nil {
		return fmt.Errorf("retry: %w", err)
	}
	stream, err := c.js.Stream(ctx, DeadLetterStream)
	if err != nil {
		return fmt.Errorf("open %s: %w", DeadLetterStream, err)
	}
	letter, err := stream.GetMsg(ctx, number)
	if err != nil {
		return fmt.Errorf("load a dead letter: %w", err)
	}
	if len(letter.Data) == maxDeadLetterBody {
		return errors.New("the message was longer and is cut: let its sender send it again")
	}
	outcome, err := c.process(ctx, message{letter.Header, letter.Data, letter.Time})
	if err != nil {
		c.cfg.Ended("failed")
		return err
	}
	c.cfg.Ended(outcome)
	return stream.DeleteMsg(ctx, number)
}

// DeadLetters is the dead-letter stream, for operators.
type DeadLetters struct {
	jetstream.Stream
	conn *nats.Conn
}

// OpenDeadLetters opens the stream. It fails at once if there is no broker.
func OpenDeadLetters(ctx context.Context, conn *nats.Conn) (l DeadLetters, err error) {
	if err = streams.CheckConnection(conn); err != nil {
		return l, err
	}
	js, err := jetstream.New(conn)
	if err != nil {
		return l, fmt.Errorf("open jetstream: %w", err)
	}
	l.conn = conn
	l.Stream, err = js.Stream(ctx, DeadLetterStream)
	return l, err
}

// Retry lets the service process the message in a dead letter, and waits for the
// outcome. A second call has no second effect: the inbox knows the message.
func (l DeadLetters) Retry(ctx context.Context, sequence uint64) error {
	ctx, cancel := context.WithTimeout(ctx, retryTimeout)
	defer cancel()
	answer, err := l.conn.RequestWithContext(ctx, RetrySubject, []byte(strconv.FormatUint(sequence, 10)))
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return errors.New("no replica of the service consumes messages")
	case err != nil:
		return fmt.Errorf("wait for the service: %w", err)
	case len(answer.Data) > 0:
		return errors.New(string(answer.Data))
	}
	return nil
}
