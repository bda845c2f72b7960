package nats_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"example.com/orders/internal/adapters/out/nats"
	devbroker "example.com/orders/internal/dev/broker"
	"example.com/orders/internal/outbox"
	natstest "example.com/orders/internal/test/nats"
)

// fullAt returns the configuration of a stream as an operator might create it: with
// room for so many messages, and refusing any more.
func fullAt(messages int64) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: nats.Stream, Subjects: []string{nats.SubjectPrefix + ">"},
		MaxMsgs: messages, Discard: jetstream.DiscardNew,
	}
}

// eventsOf returns one event for each aggregate in the list, with the ids 1, 2, 3 …
func eventsOf(aggregates ...string) []outbox.Event {
	var events []outbox.Event
	for i, aggregate := range aggregates {
		events = append(events, outbox.Event{
			ID: eventID(i + 1), Source: "/orders/test", Type: "test.happened", Aggregate: aggregate, Data: []byte("{}"),
		})
	}
	return events
}

// eventID returns the id of an event of a test.
func eventID(n int) string { return uuid.UUID{15: byte(n)}.String() }

func eventIDs(numbers ...int) []string {
	var ids []string
	for _, n := range numbers {
		ids = append(ids, eventID(n))
	}
	return ids
}

// publishedIDs returns the ids of all events in the stream, in its order.
func publishedIDs(t *testing.T, broker *devbroker.Broker) []string {
	t.Helper()
	var ids []string
	for _, body := range natstest.Messages(t, broker, nats.Stream) {
		var e struct{ ID string }
		if err := json.Unmarshal(body, &e); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, e.ID)
	}
	return ids
}

func TestPublish_KeepsTheOrderOfAnAggregateAfterAFailure(t *testing.T) {
	t.Parallel()
	broker := natstest.New(t)
	js := natstest.JetStream(t, broker)
	if _, err := js.CreateStream(t.Context(), fullAt(2)); err != nil {
		t.Fatal(err)
	}
	events := eventsOf("a", "a", "b", "c", "b")
	publisher := natstest.Publisher(t, broker)

	// There is room for the first events of a and b. The first of c fails, and the
	// second ones of a and b must not be sent.
	acked, err := publisher.Publish(t.Context(), events)
	if diff := cmp.Diff(eventIDs(1, 3), acked); err == nil || diff != "" {
		t.Errorf("err = %v, acknowledged (-want +got):\n%s", err, diff)
	}

	if _, err := js.UpdateStream(t.Context(), fullAt(10)); err != nil {
		t.Fatal(err)
	}
	if _, err := publisher.Publish(t.Context(), events); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(eventIDs(1, 3, 4, 2, 5), publishedIDs(t, broker)); diff != "" {
		t.Errorf("ids in the stream (-want +got):\n%s", diff)
	}
}

func TestPublish_NamesTheMessageLikeTheEvent(t *testing.T) {
	t.Parallel()
	broker := natstest.New(t)
	if _, err := natstest.Publisher(t, broker).Publish(t.Context(), eventsOf("a")); err != nil {
		t.Fatal(err)
	}
	stream, err := natstest.JetStream(t, broker).Stream(t.Context(), nats.Stream)
	if err != nil {
		t.Fatal(err)
	}
	msg, err := stream.GetMsg(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if want, err := eventsOf("a")[0].CloudEvent(); err != nil || !bytes.Equal(msg.Data, want) {
		t.Errorf("the message is %s, want %s, %v", msg.Data, want, err)
	}
	want := map[string]string{"Nats-Msg-Id": eventID(1), "content-type": "application/cloudevents+json"}
	for name, value := range want {
		if got := msg.Header.Get(name); got != value {
			t.Errorf("header %s = %q, want %q", name, got, value)
		}
	}
}
