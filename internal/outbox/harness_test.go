package outbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	client "github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"example.com/orders/internal/adapters/out/nats"
	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	devbroker "example.com/orders/internal/dev/broker"
	"example.com/orders/internal/outbox"
	natstest "example.com/orders/internal/test/nats"
	pgtest "example.com/orders/internal/test/pg"
	testwait "example.com/orders/internal/test/wait"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var eventually = testwait.Until

func openDB(t *testing.T, url string) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), postgres.Config{URL: url, MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

func connect(t *testing.T, broker *devbroker.Broker) *client.Conn {
	t.Helper()
	conn, err := nats.Connect(broker.URL(), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

func newPublisher(t *testing.T, conn *client.Conn) *nats.Publisher {
	t.Helper()
	publisher, err := nats.NewPublisher(conn)
	if err != nil {
		t.Fatal(err)
	}
	return publisher
}

// start runs a relay; stop ends it and waits until it has.
func start(t *testing.T, relay *outbox.Relay) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); relay.Run(ctx) }()
	stop = func() { cancel(); <-ended }
	t.Cleanup(stop)
	return stop
}

// write leaves the next n events of an aggregate in the outbox, each with its number.
func write(t *testing.T, db *postgres.DB, aggregate string, from, n int) {
	t.Helper()
	for number := from; number < from+n; number++ {
		err := db.Orders().InTx(t.Context(), func(ctx context.Context, tx order.Tx) error {
			return tx.Journal.Publish(ctx, core.Event{
				Type: "test.happened", Aggregate: aggregate, Data: map[string]any{"number": number},
			})
		})
		if err != nil {
			t.Error(err)
			return
		}
	}
}

// writeAll writes n events of each of several aggregates, all at once.
func writeAll(t *testing.T, db *postgres.DB, aggregates, from, n int) {
	t.Helper()
	var writers sync.WaitGroup
	for i := range aggregates {
		writers.Go(func() { write(t, db, fmt.Sprint("thing/", i), from, n) })
	}
	writers.Wait()
}

// arrived is what the stream has of each aggregate: the numbers, in the order of arrival.
type arrived map[string][]int

// received reads the stream from its beginning. An event that is there twice, under one
// id, fails the test, and so does one that is not in its place.
func received(t *testing.T, broker *devbroker.Broker) arrived {
	t.Helper()
	got, ids := arrived{}, map[int64]bool{}
	for _, body := range natstest.Messages(t, broker, nats.Stream) {
		var e struct {
			ID        int64
			Aggregate string
			Data      struct{ Number int }
		}
		if err := json.Unmarshal(body, &e); err != nil {
			t.Fatal(err)
		}
		if ids[e.ID] {
			t.Errorf("event %d is in the stream twice", e.ID)
		}
		ids[e.ID] = true
		if want := len(got[e.Aggregate]); e.Data.Number != want {
			t.Errorf("%s: event %d arrived as number %d", e.Aggregate, e.Data.Number, want)
		}
		got[e.Aggregate] = append(got[e.Aggregate], e.Data.Number)
	}
	return got
}

// awaitEmpty waits until the outbox has let everything go.
func awaitEmpty(t *testing.T, db *postgres.DB) {
	t.Helper()
	eventually(t, "all events have left", func() bool { return backlog(t, db) == 0 })
}

func backlog(t *testing.T, db *postgres.DB) int64 {
	t.Helper()
	events, _, err := db.Outbox().Backlog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// expect tells whether each aggregate has arrived with n events.
func (a arrived) expect(t *testing.T, aggregates, n int) {
	t.Helper()
	if len(a) != aggregates {
		t.Errorf("%d aggregates arrived, want %d", len(a), aggregates)
	}
	for aggregate, numbers := range a {
		if len(numbers) != n {
			t.Errorf("%s: %d events arrived, want %d", aggregate, len(numbers), n)
		}
	}
}
