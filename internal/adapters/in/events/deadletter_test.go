package events_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"example.com/orders/internal/adapters/in/events"
	natstest "example.com/orders/internal/test/nats"
	testwait "example.com/orders/internal/test/wait"
)

// letter is what a test compares of a dead letter.
type letter struct{ Subject, Reason, Body, Original, Sequence, Deliveries, MessageID string }

// letters returns all dead letters, by the position of the original message.
func (w warehouse) letters(t *testing.T) map[string]letter {
	t.Helper()
	found := map[string]letter{}
	for _, msg := range w.deadLetters(t) {
		if msg.Header.Get(events.HeaderDetail) == "" {
			t.Error("a dead letter has no detail")
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

func TestConsumer_DeadLettersWhatCanNeverBeProcessed(t *testing.T) {
	t.Parallel()
	w, s := newWarehouse(t), newShop(t)
	s.addProduct(t, "tea")
	w.startReplica(t, s.restock, usualAckWait)
	bad := []struct{ body, reason string }{
		{`not json`, "unreadable_message"},
		{``, "unreadable_message"},
		{restocked("1", oneTea) + ` {}`, "unreadable_message"},
		{restocked("2", `"sku":"tea","quantity":"five"`), "unreadable_message"},
		{restocked("3", `"sku":"tea","quantity":1.5`), "unreadable_message"},
		{restocked("4", `"sku":"tea","quantity":1000000001`), "unreadable_message"},
		{restocked("", oneTea), "unreadable_message"},
		{restocked(strings.Repeat("x", 256), oneTea), "unreadable_message"},
		{strings.Replace(restocked("5#", oneTea), "#", `\u0000`, 1), "unreadable_message"},
		{restockedBy("", "6", oneTea), "unreadable_message"},
		{restockedBy("/"+strings.Repeat("x", 255), "7", oneTea), "unreadable_message"},
		{strings.Replace(restockedBy("/#", "8", oneTea), "#", `\u0000`, 1), "unreadable_message"},
		{restocked("9", `"sku":"te\u0000a","quantity":1`), "unreadable_message"},
		{strings.Replace(restocked("10", oneTea), "restocked", "emptied", 1), "unreadable_message"},
		{strings.Replace(restocked("11", oneTea), `"1.0"`, `"0.3"`, 1), "unreadable_message"},
		{`{"id":"12","sku":"tea","quantity":1}`, "unreadable_message"},
		{restocked("13", `"sku":"tea"`), "validation_failed"},
		{restocked("14", `"sku":"tea","quantity":-1`), "validation_failed"},
		{restocked("15", `"sku":"coffee","quantity":1`), "not_found"},
	}
	want := map[string]letter{}
	for i, b := range bad {
		w.send(t, b.body)
		sequence := fmt.Sprint(i + 1)
		want[sequence] = letter{events.DeadLetterSubject, b.reason, b.body, events.Subject, sequence, "1", ""}
	}
	w.send(t, restocked("good", `"sku":"tea","quantity":7`))

	if deliveries := w.awaitAllDone(t); deliveries != uint64(len(bad)+1) {
		t.Errorf("%d deliveries, want one for each of %d messages", deliveries, len(bad)+1)
	}
	if diff := cmp.Diff(want, w.letters(t)); diff != "" {
		t.Errorf("dead letters (-want +got):\n%s", diff)
	}
	s.wantOnHand(t, "tea", 7)
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
