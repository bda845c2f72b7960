package outbox_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"example.com/orders/internal/adapters/out/nats"
	devbroker "example.com/orders/internal/dev/broker"
	"example.com/orders/internal/outbox"
	natstest "example.com/orders/internal/test/nats"
	pgtest "example.com/orders/internal/test/pg"
)

// smallStream is the stream as an operator might have made it: it refuses what does not
// fit.
func smallStream(messages int64) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: nats.Stream, Subjects: []string{nats.SubjectPrefix + ">"},
		MaxMsgs: messages, Discard: jetstream.DiscardNew,
	}
}

func TestNoEventOvertakesAnotherOfItsAggregate(t *testing.T) {
	t.Parallel()
	broker := natstest.New(t)
	js := natstest.JetStream(t, broker)
	if _, err := js.CreateStream(t.Context(), smallStream(2)); err != nil {
		t.Fatal(err)
	}
	var events []outbox.Event
	for i, aggregate := range []string{"a", "a", "b", "c", "b"} {
		events = append(events, outbox.Event{ID: int64(i + 1), Type: "test.happened", Aggregate: aggregate, Data: []byte("{}")})
	}
	publisher := newPublisher(t, connect(t, broker))
	// There is room for the first of a and of b. That of c fails, and the second ones wait.
	acked, err := publisher.Publish(t.Context(), events)
	if diff := cmp.Diff([]int64{1, 3}, acked); err == nil || diff != "" {
		t.Errorf("%v, %s", err, diff)
	}
	if _, err := js.UpdateStream(t.Context(), smallStream(10)); err != nil {
		t.Fatal(err)
	}
	if _, err := publisher.Publish(t.Context(), events); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int64{1, 3, 4, 2, 5}, idsOf(t, broker)); diff != "" {
		t.Error(diff)
	}
}

func idsOf(t *testing.T, broker *devbroker.Broker) []int64 {
	t.Helper()
	var ids []int64
	for _, body := range natstest.Messages(t, broker, nats.Stream) {
		var e struct{ ID int64 }
		if err := json.Unmarshal(body, &e); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, e.ID)
	}
	return ids
}

func TestStreamOfItsOperatorsIsLeftAlone(t *testing.T) {
	t.Parallel()
	broker := natstest.New(t)
	js := natstest.JetStream(t, broker)
	if _, err := js.CreateStream(t.Context(), smallStream(7)); err != nil {
		t.Fatal(err)
	}
	if _, err := newPublisher(t, connect(t, broker)).Publish(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), nats.Stream)
	if err != nil {
		t.Fatal(err)
	}
	if got := stream.CachedInfo().Config.MaxMsgs; got != 7 {
		t.Errorf("the limit is %d now", got)
	}
}

func TestStreamThatIsGoneIsMadeAgain(t *testing.T) {
	t.Parallel()
	db, broker := openDB(t, pgtest.New(t)), natstest.New(t)
	start(t, &outbox.Relay{Store: db.Outbox(), Publisher: newPublisher(t, connect(t, broker))})
	write(t, db, "thing/0", 0, 1)
	awaitEmpty(t, db)
	if err := natstest.JetStream(t, broker).DeleteStream(t.Context(), nats.Stream); err != nil {
		t.Fatal(err)
	}
	write(t, db, "thing/1", 0, 1)
	awaitEmpty(t, db)
	if diff := cmp.Diff(arrived{"thing/1": {0}}, received(t, broker)); diff != "" {
		t.Error(diff)
	}
}

func TestCredentialsAreNotTold(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"nats://orders:secret@127.0.0.1:notaport", "nats://orders:secret@[::1", "nats://orders:secret@%zz:4222",
		"nats://orders:secret@127.0.0.1:1,nats://orders:secret@127.0.0.1:2", "secret://orders:secret@\x7f",
	} {
		var log bytes.Buffer
		conn, err := nats.Connect(url, zerolog.New(&log))
		if err == nil {
			_, err = newPublisher(t, conn).Publish(t.Context(), nil)
			conn.Close()
		}
		if err == nil {
			t.Errorf("%q works", url)
		} else if told := err.Error() + log.String(); strings.Contains(told, "secret") {
			t.Errorf("told: %s", told)
		}
	}
}
