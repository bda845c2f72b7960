package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"example.com/orders/internal/outbox"
)

const (
	// Stream is where the events are kept for their consumers.
	Stream = "ORDERS"
	// SubjectPrefix and the type of an event make its subject.
	SubjectPrefix = "orders.events."

	// keepFor is how long a consumer may be away without losing anything.
	keepFor = 7 * 24 * time.Hour
	// forgetAfter is how long the broker knows an event that comes twice. After that
	// consumers have to: every event has an id.
	forgetAfter = 2 * time.Minute
	// ackTimeout bounds the wait for one acknowledgement.
	ackTimeout = 5 * time.Second
	// maxPending bounds the events that wait for their acknowledgement.
	maxPending = 1000
)

// Publisher brings events to JetStream. One goroutine at a time may use it.
type Publisher struct {
	js    jetstream.JetStream
	ready bool // the stream has been seen
}

// NewPublisher makes a publisher on a connection. Nothing is sent yet.
func NewPublisher(conn *client.Conn) (*Publisher, error) {
	js, err := jetstream.New(conn,
		jetstream.WithPublishAsyncTimeout(ackTimeout), jetstream.WithPublishAsyncMaxPending(maxPending))
	if err != nil {
		return nil, fmt.Errorf("use the broker: %w", err)
	}
	return &Publisher{js: js}, nil
}

// Publish sends events, each aggregate's in their order, and gives the ids of those that
// the broker has acknowledged. After an error the others may have arrived or not: they
// have to be sent again, and the broker drops the ones it knows by their id.
//
// An acknowledgement can fail to come for one message while the next one arrives, so two
// events of an aggregate are never under way together. All others are.
func (p *Publisher) Publish(ctx context.Context, events []outbox.Event) (acked []int64, err error) {
	if err := p.prepare(ctx); err != nil {
		return nil, err
	}
	for _, round := range rounds(events) {
		ids, err := p.together(ctx, round)
		acked = append(acked, ids...)
		if err != nil {
			p.ready = false // perhaps the broker lost its streams
			return acked, err
		}
	}
	return acked, nil
}

// rounds splits events so that each round has at most one event of an aggregate: its
// first, its second, and so on.
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

// together sends all events and then waits for all acknowledgements.
func (p *Publisher) together(ctx context.Context, events []outbox.Event) (acked []int64, err error) {
	acks := make([]jetstream.PubAckFuture, len(events))
	for i, e := range events {
		ack, sendErr := p.send(e)
		if sendErr != nil {
			acks, err = acks[:i], sendErr
			break
		}
		acks[i] = ack
	}
	for i, ack := range acks {
		if ackErr := await(ctx, ack); ackErr != nil {
			err = errors.Join(err, fmt.Errorf("publish event %d: %w", events[i].ID, ackErr))
			continue
		}
		acked = append(acked, events[i].ID)
	}
	return acked, err
}

func (p *Publisher) send(e outbox.Event) (jetstream.PubAckFuture, error) {
	body, err := encode(e)
	if err != nil {
		return nil, err
	}
	ack, err := p.js.PublishAsync(SubjectPrefix+e.Type, body,
		jetstream.WithMsgID(strconv.FormatInt(e.ID, 10)), jetstream.WithExpectStream(Stream))
	if err != nil {
		return nil, fmt.Errorf("publish event %d: %w", e.ID, err)
	}
	return ack, nil
}

// await waits for one acknowledgement. That an event was there already is one, too.
func await(ctx context.Context, ack jetstream.PubAckFuture) error {
	select {
	case <-ack.Ok():
		return nil
	case err := <-ack.Err():
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// envelope is an event on the wire; see api/asyncapi.yaml.
type envelope struct {
	ID         int64           `json:"id"`
	Type       string          `json:"type"`
	Version    int             `json:"version"`
	Aggregate  string          `json:"aggregate"`
	OccurredAt time.Time       `json:"occurred_at"`
	Data       json.RawMessage `json:"data"`
}

func encode(e outbox.Event) ([]byte, error) {
	body, err := json.Marshal(envelope{e.ID, e.Type, e.Version, e.Aggregate, e.At, e.Data})
	if err != nil {
		return nil, fmt.Errorf("encode event %d: %w", e.ID, err)
	}
	return body, nil
}

// prepare makes the stream unless it exists. One that exists is left as its operators
// set it: copies, age and size are theirs to choose.
func (p *Publisher) prepare(ctx context.Context) error {
	if p.ready {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, ackTimeout)
	defer cancel()
	_, err := p.js.Stream(ctx, Stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		_, err = p.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: Stream, Subjects: []string{SubjectPrefix + ">"},
			Storage: jetstream.FileStorage, MaxAge: keepFor, Duplicates: forgetAfter,
		})
	}
	if err != nil && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another replica was faster
		return fmt.Errorf("prepare the stream %s: %w", Stream, err)
	}
	p.ready = true
	return nil
}
