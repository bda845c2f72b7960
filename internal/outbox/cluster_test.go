package outbox_test

import (
	"math"
	"sync"
	"testing"

	"example.com/orders/internal/adapters/out/nats"
	"example.com/orders/internal/outbox"
	natstest "example.com/orders/internal/test/nats"
	pgtest "example.com/orders/internal/test/pg"
	testwait "example.com/orders/internal/test/wait"
)

// What a leader has stored and nobody has marked is published again, through its successor.
func TestRelay_PublishesOnceWhileTheStreamLosesItsLeaders(t *testing.T) {
	t.Parallel()
	const aggregates, events, leaders = 10, 200, 2
	db, broker := openDB(t, pgtest.New(t)), natstest.NewCluster(t)
	js, publisher := natstest.JetStream(t, broker), natstest.Publisher(t, broker)
	publisher.Replicas = 3
	store := &faultyStore{Store: db.Outbox()}
	start(t, &outbox.Relay{Store: store, Publisher: publisher})
	writeAll(t, db, aggregates, 0, 1)
	for round := range leaders {
		natstest.AwaitPublished(t, db.Outbox())
		leader := broker.Leader(t, js, nats.Stream)
		store.failingMarks.Store(math.MaxInt64)
		var flow sync.WaitGroup
		flow.Go(func() { writeAll(t, db, aggregates, 1+round*events, events) })
		testwait.Until(t, "an event is published and not marked", func() bool {
			return store.failingMarks.Load() < math.MaxInt64
		})
		leader.Halt()
		store.failingMarks.Store(0)
		flow.Wait()
		natstest.AwaitPublished(t, db.Outbox())
		if err := leader.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	broker.Leader(t, js, nats.Stream) // a replica that has missed events could be read
	readStream(t, broker).want(t, aggregates, 1+leaders*events)
}
