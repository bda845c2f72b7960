package events_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"example.com/orders/internal/adapters/in/events"
	contracttest "example.com/orders/internal/test/contract"
	natstest "example.com/orders/internal/test/nats"
	testwait "example.com/orders/internal/test/wait"
)

// letter is what a test compares of a dead letter.
type letter struct{ Subject, Reason, Body, Original, Sequence, Deliveries, MessageID string }

// letters returns all dead letters, by the position of the original message. It checks that
// api/asyncapi.yaml names their headers.
func (w warehouse) letters(t *testing.T) map[string]letter {
	t.Helper()
	headers := contracttest.MessageSchema(t, "DeadLetterHeaders")
	found := map[string]letter{}
	for _, msg := range w.deadLetters(t) {
		values := map[string]any{}
		for name := range msg.Header {
			values[name] = msg.Header.Get(name)
		}
		if err := headers.Validate(values); err != nil || values[events.HeaderDetail] == nil {
			t.Errorf("the headers are %v: %v", values, err)
		}
		sequence := msg.Header.Get(events.HeaderSequence)
		if _, twice := found[sequence]; twice {
			t.Errorf("message %s has two dead letters", sequence)
		}
		found[sequence] = letter{
			msg.Subject, msg.Header.Get(events.HeaderReason), string(msg.Data),
			msg.Header.Get(events.HeaderSubject), sequence,
			msg.Header.Get(events.HeaderDeliveries), msg.Header.Get(events.HeaderMessageID),
		}
	}
	return found
}

// bodies are messages, and why each can never be processed; no reason is that it can.
var bodies = []struct{ body, reason string }{
	{restocked("a", `"sku":"tea","quantity":7`), ""},
	{restockedBy("/", "~", `"sku":"cup","quantity":1000000000`), ""},
	{strings.Replace(restocked("b", oneTea+`,"more":[]`), `"data"`, `"datacontenttype":"application/json","bay":7,"data"`, 1), ""},

	{`not json`, "unreadable_message"},
	{``, "unreadable_message"},
	{restocked("1", oneTea) + ` {}`, "unreadable_message"},
	{`[]`, "unreadable_message"},
	{`null`, "unreadable_message"},
	{`{"id":"2","sku":"tea","quantity":1}`, "unreadable_message"},
	{restocked("3", `"sku":"tea","quantity":"five"`), "unreadable_message"},
	{restocked("4", `"sku":"tea","quantity":1.5`), "unreadable_message"},
	{restocked("5", `"sku":"tea","quantity":1000000001`), "unreadable_message"},
	{restocked("", oneTea), "unreadable_message"},
	{restocked("6 7", oneTea), "unreadable_message"},
	{restocked(strings.Repeat("x", 256), oneTea), "unreadable_message"},
	{strings.Replace(restocked("8#", oneTea), "#", `\u0000`, 1), "unreadable_message"},
	{strings.Replace(restocked("#", oneTea), `"#"`, `9`, 1), "unreadable_message"},
	{restockedBy("", "10", oneTea), "unreadable_message"},
	{restockedBy("/a b", "11", oneTea), "unreadable_message"},
	{restockedBy("/"+strings.Repeat("x", 255), "12", oneTea), "unreadable_message"},
	{restocked("13", `"sku":"te\u0000a","quantity":1`), "unreadable_message"},
	{restocked("14", `"sku":"t/a","quantity":1`), "unreadable_message"},
	{restocked("15", `"quantity":1`), "unreadable_message"},
	{strings.Replace(restocked("16", oneTea), "restocked", "emptied", 1), "unreadable_message"},
	{strings.Replace(restocked("17", oneTea), `"1.0"`, `"0.3"`, 1), "unreadable_message"},
	{strings.Replace(restocked("18", oneTea), `"data"`, `"more"`, 1), "unreadable_message"},
	{restocked("19", `"sku":"tea"`), "validation_failed"},
	{restocked("20", `"sku":"tea","quantity":0`), "validation_failed"},
	{restocked("21", `"sku":"coffee","quantity":1`), "not_found"},
}

// The consumer processes what api/asyncapi.yaml allows and dead-letters the rest.
func TestConsumer_DeadLettersWhatCanNeverBeProcessed(t *testing.T) {
	t.Parallel()
	schema := contracttest.MessageSchema(t, "InventoryRestocked")
	w, s := newWarehouse(t), newShop(t)
	s.addProduct(t, "tea")
	s.addProduct(t, "cup")
	w.startReplica(t, s.restock, usualAckWait)
	want := map[string]letter{}
	for i, b := range bodies {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(b.body))
		allowed := err == nil && schema.Validate(value) == nil
		if processed := b.reason == "" || b.reason == "not_found"; allowed != processed {
			t.Errorf("%s: the schema allows it: %t", b.body, allowed)
		}
		w.send(t, b.body)
		if sequence := fmt.Sprint(i + 1); b.reason != "" {
			want[sequence] = letter{events.DeadLetterSubject, b.reason, b.body, events.Subject, sequence, "1", ""}
		}
	}

	if deliveries := w.awaitAllDone(t); deliveries != uint64(len(bodies)) {
		t.Errorf("%d deliveries, want one for each of %d messages", deliveries, len(bodies))
	}
	if diff := cmp.Diff(want, w.letters(t)); diff != "" {
		t.Errorf("dead letters (-want +got):\n%s", diff)
	}
	s.wantOnHand(t, "tea", 8)
	s.wantOnHand(t, "cup", 1_000_000_000)
	// A sender can correct a message that was not processed, and send it with its id.
	s.wantUnprocessed(t, "events /warehouse/1", "21")
}

func TestConsumer_TruncatesAHugeDeadLetter(t *testing.T) {
	t.Parallel()
	w := newWarehouse(t)
	w.startReplica(t, nil, usualAckWait)
	limit := int(natstest.Connect(t, w.broker).MaxPayload())
	w.send(t, strings.Repeat("x", limit-100), jetstream.WithMsgID("big"))
	w.awaitAllDone(t)
	letters := w.letters(t)
	got := letters["1"]
	if len(letters) != 1 || len(got.Body) != 64<<10 || got.MessageID != "big" {
		t.Errorf("%d dead letters, the first of %d bytes and id %q; want 1 of 65536 bytes and id \"big\"",
			len(letters), len(got.Body), got.MessageID)
	}
}

func TestConsumer_KeepsAMessageUntilItsDeadLetterIsStored(t *testing.T) {
	t.Parallel()
	w := newWarehouse(t)
	w.startReplica(t, nil, usualAckWait)
	if err := w.js.DeleteStream(t.Context(), events.DeadLetterStream); err != nil {
		t.Fatal(err)
	}
	w.send(t, "not json")
	testwait.Until(t, "the message is delivered again", func() bool {
		consumer, err := w.js.Consumer(t.Context(), events.Stream, durable)
		return err == nil && consumer.CachedInfo().NumRedelivered > 0
	})
	_, err := w.js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: events.DeadLetterStream, Subjects: []string{"orders.dlq.>"},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.awaitAllDone(t)
	if n := len(w.deadLetters(t)); n != 1 {
		t.Errorf("%d dead letters, want 1", n)
	}
}
