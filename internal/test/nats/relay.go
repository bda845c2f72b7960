package natstest

import (
	"context"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"example.com/orders/internal/adapters/out/nats"
	testwait "example.com/orders/internal/test/wait"
)

// Publisher returns the publisher of the service, on a separate connection, until the test
// ends.
func Publisher(t testing.TB, broker Address) *nats.Publisher {
	t.Helper()
	conn, err := nats.Connect(nats.Service, broker.URL(), "", zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	publisher, err := nats.NewPublisher(conn)
	if err != nil {
		t.Fatal(err)
	}
	return publisher
}

// Run runs a background worker, such as a relay, until the test ends or stop is called.
// stop returns when the worker has ended.
func Run(t testing.TB, worker func(context.Context)) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); worker(ctx) }()
	stop = func() { cancel(); <-ended }
	t.Cleanup(stop)
	return stop
}

// Backlog is an outbox that counts its unpublished events.
type Backlog interface {
	Backlog(ctx context.Context) (events int64, oldest time.Duration, err error)
}

// AwaitPublished waits until every event in the outbox is published.
func AwaitPublished(t testing.TB, outbox Backlog) {
	t.Helper()
	testwait.Until(t, "all events are published", func() bool { return Unpublished(t, outbox) == 0 })
}

// Unpublished counts the unpublished events in the outbox.
func Unpublished(t testing.TB, outbox Backlog) int64 {
	t.Helper()
	events, _, err := outbox.Backlog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return events
}
