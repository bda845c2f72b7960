package events_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"example.com/orders/internal/adapters/in/events"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	contracttest "example.com/orders/internal/test/contract"
	testlog "example.com/orders/internal/test/log"
	natstest "example.com/orders/internal/test/nats"
	pgtest "example.com/orders/internal/test/pg"
	testwait "example.com/orders/internal/test/wait"
)

func TestConsumer_CountsAMessageOnceOnTwoReplicas(t *testing.T) {
	t.Parallel()
	w, url := newWarehouse(t), pgtest.New(t)
	one, two := openShop(t, url), openShop(t, url)
	one.addProduct(t, "tea")
	one.addProduct(t, "mug")
	w.startReplica(t, one.restock, usualAckWait)
	w.startReplica(t, two.restock, usualAckWait)

	for range 3 { // each message is sent three times
		for n := range 20 {
			w.send(t, restocked(fmt.Sprint("tea-", n), fmt.Sprintf(`"sku":"tea","quantity":%d`, n+1)))
			w.send(t, restocked(fmt.Sprint("mug-", n), `"sku":"mug","quantity":1,"bay":"new"`))
		}
	}

	if deliveries := w.awaitAllDone(t); deliveries < 120 {
		t.Errorf("%d deliveries, want 120 at least", deliveries)
	}
	one.wantOnHand(t, "tea", 210)
	one.wantOnHand(t, "mug", 20)
}

// An id is unique within its source only.
func TestConsumer_TellsEventsOfDifferentSourcesApart(t *testing.T) {
	t.Parallel()
	w, s := newWarehouse(t), newShop(t)
	s.addProduct(t, "tea")
	w.startReplica(t, s.restock, usualAckWait)
	for range 2 {
		w.send(t, restockedBy("/warehouse/1", "17", oneTea))
		w.send(t, restockedBy("/warehouse/2", "17", oneTea))
		w.send(t, restockedBy("stripe", "17", oneTea))
	}
	w.awaitAllDone(t)
	s.wantOnHand(t, "tea", 3)
	s.wantUnprocessed(t, "stripe", "17")
}

func TestConsumer_CountsAMessageOnceWhenItsAcknowledgementIsLost(t *testing.T) {
	t.Parallel()
	w, s := newWarehouse(t), newShop(t)
	s.addProduct(t, "tea")
	conn := natstest.Connect(t, w.broker)
	first := w.startReplicaOn(t, conn, func(ctx context.Context, cmd order.Restock) error {
		defer conn.Close() // after the commit and before the acknowledgement
		return s.restock(ctx, cmd)
	}, time.Second)
	w.send(t, restocked("1", fiveTeas))
	testwait.Until(t, "the first replica has committed", func() bool { return s.onHand(t, "tea") == 5 })
	first.stop()

	w.startReplica(t, s.restock, time.Second)
	if deliveries := w.awaitAllDone(t); deliveries < 2 { // a replica that stalls gets it once more
		t.Errorf("%d deliveries, want 2 at least", deliveries)
	}
	s.wantOnHand(t, "tea", 5)
}

func TestConsumer_AcknowledgesAfterTheUseCaseEvenWhileItStops(t *testing.T) {
	t.Parallel()
	w := newWarehouse(t)
	entered, finish := make(chan struct{}), make(chan struct{})
	r := w.startReplica(t, func(ctx context.Context, _ order.Restock) error {
		close(entered)
		<-finish
		return ctx.Err() // nil: the end of the consumer must not cancel the use case
	}, usualAckWait)
	w.send(t, restocked("1", fiveTeas))
	<-entered
	consumer, err := w.js.Consumer(t.Context(), events.Stream, durable)
	if err != nil {
		t.Fatal(err)
	}
	if pending := consumer.CachedInfo().NumAckPending; pending != 1 {
		t.Errorf("%d messages wait for their acknowledgement, want 1", pending)
	}

	r.cancel()
	close(finish)
	<-r.ended
	w.awaitAllDone(t)
}

func TestConsumer_ExtendsTheDeadlineOfLongWork(t *testing.T) {
	t.Parallel()
	w := newWarehouse(t)
	const ackWait = 3 * time.Second // a third of it passes between signals: a stall may last two
	var calls atomic.Int64
	longWork := func(context.Context, order.Restock) error {
		calls.Add(1)
		<-time.After(2 * ackWait)
		return nil
	}
	w.startReplica(t, longWork, ackWait)
	w.startReplica(t, longWork, ackWait)
	w.send(t, restocked("1", fiveTeas))
	w.awaitAllDone(t)
	if n := calls.Load(); n != 1 {
		t.Errorf("the use case ran %d times, want once", n)
	}
}

func TestConsumer_RetriesWithBackoffAfterATemporaryFailure(t *testing.T) {
	t.Parallel()
	failures := map[string]func() error{
		"restock: store unavailable":    func() error { return fmt.Errorf("restock: %w", core.ErrUnavailable) },
		"outcome of the commit unknown": func() error { return core.ErrOutcomeUnknown },
		"a bug":                         func() error { return errors.New("a bug") },
		"panic: no such unit":           func() error { panic("no such unit") },
	}
	for name, fail := range failures { // by a part of the line in the log
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWarehouse(t)
			var calls atomic.Int64
			w.startReplica(t, func(context.Context, order.Restock) error {
				if calls.Add(1) < 3 {
					return fail()
				}
				return nil
			}, usualAckWait)
			sent := time.Now()
			w.send(t, restocked("1", fiveTeas))
			w.awaitAllDone(t)
			if n := calls.Load(); n != 3 {
				t.Errorf("the use case ran %d times, want 3", n)
			}
			// The two delays are at least half of 1 s and half of 2 s.
			if took := time.Since(sent); took < 1500*time.Millisecond {
				t.Errorf("two retries took %v, which is no backoff", took)
			}
			if n := len(w.deadLetters(t)); n != 0 {
				t.Errorf("%d dead letters, want none", n)
			}
			if text := w.log.String(); !strings.Contains(text, "message retried later") || !strings.Contains(text, name) {
				t.Errorf("the log is %s", text)
			}
		})
	}
}

func TestConsumer_ReportsAMissingConnection(t *testing.T) {
	t.Parallel()
	w := newWarehouse(t)
	conn := natstest.Connect(t, w.broker)
	conn.Close()
	consumer, err := events.New(events.Config{Conn: conn, Log: zerolog.New(w.log)})
	if err != nil {
		t.Fatal(err)
	}
	natstest.Run(t, consumer.Run)
	testwait.Until(t, "the log says what is missing", func() bool {
		return strings.Contains(w.log.String(), "no connection to the broker")
	})
}

func TestConsumer_SurvivesRestartsOfTheBroker(t *testing.T) {
	t.Parallel()
	w, s := newWarehouse(t), newShop(t)
	s.addProduct(t, "tea")
	w.startReplica(t, s.restock, time.Second)
	for n := range 3 {
		w.send(t, restocked(fmt.Sprint(n), oneTea))
		if err := w.broker.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		testwait.Until(t, "the broker answers", func() bool {
			_, err := w.js.AccountInfo(t.Context())
			return err == nil
		})
	}
	w.awaitAllDone(t)
	s.wantOnHand(t, "tea", 3)
}

// sendUntilStored sends a message until a stream that may have no leader has it.
func (w warehouse) sendUntilStored(t *testing.T, body string) {
	t.Helper()
	testwait.Until(t, "the message is stored", func() bool {
		_, err := w.js.Publish(t.Context(), events.Subject, []byte(body))
		return err == nil
	})
}

// Acknowledgements and requests for messages are lost with a leader.
func TestConsumer_CountsAMessageOnceWhenItsLeaderEnds(t *testing.T) {
	t.Parallel()
	broker, s := natstest.NewCluster(t), newShop(t)
	s.addProduct(t, "tea")
	w := warehouse{js: natstest.JetStream(t, broker), replicas: 3, log: &testlog.Buffer{}}
	for range 2 {
		w.startReplicaOn(t, natstest.Connect(t, broker), s.restock, time.Second)
	}
	broker.Leader(t, w.js, events.Stream)
	broker.Leader(t, w.js, events.DeadLetterStream)
	const messages = 60
	for n := range messages {
		if n == messages/2 {
			broker.ConsumerLeader(t, w.js, events.Stream, durable).Halt()
		}
		w.sendUntilStored(t, restocked(fmt.Sprint(n), oneTea))
	}
	w.awaitAllDone(t)
	s.wantOnHand(t, "tea", messages)
}

// binary returns a message in CloudEvents' binary mode with these values of its headers.
func binary(t *testing.T, id, kind, data string) *nats.Msg {
	t.Helper()
	msg := nats.NewMsg(events.Subject)
	msg.Data = []byte(data)
	msg.Header = nats.Header{
		"ce-specversion": {"1.0"}, "ce-id": {id}, "ce-source": {"/warehouse/1"}, "ce-type": {kind},
		"content-type": {"application/json"},
	}
	return msg
}

// sendMsg publishes a message with headers.
func (w warehouse) sendMsg(t *testing.T, msg *nats.Msg) {
	t.Helper()
	if _, err := w.js.PublishMsg(t.Context(), msg); err != nil {
		t.Fatal(err)
	}
}

func TestConsumer_ReadsEventsInBinaryMode(t *testing.T) {
	t.Parallel()
	w, s := newWarehouse(t), newShop(t)
	s.addProduct(t, "tea")
	w.startReplica(t, s.restock, usualAckWait)
	msg := binary(t, "17", "inventory.restocked", "{"+fiveTeas+"}")
	values := map[string]any{}
	for name := range msg.Header {
		values[name] = msg.Header.Get(name)
	}
	if err := contracttest.MessageSchema(t, "WarehouseAttributes").Validate(values); err != nil {
		t.Error(err)
	}
	w.sendMsg(t, msg)
	w.send(t, restocked("17", fiveTeas)) // the same event in structured mode
	encoded := binary(t, "1%257", "inventory.restocked", "{"+oneTea+"}")
	encoded.Header["Ce-Type"] = encoded.Header["ce-type"]
	delete(encoded.Header, "ce-type")
	w.sendMsg(t, encoded)
	w.send(t, restocked("1%7", oneTea))

	w.awaitAllDone(t)

	s.wantOnHand(t, "tea", 6)
	if letters := w.deadLetters(t); len(letters) > 0 {
		t.Errorf("dead letters: %v", letters)
	}
}

func TestConsumer_KeepsTheAttributesOfADeadLetter(t *testing.T) {
	t.Parallel()
	w := newWarehouse(t)
	w.startReplica(t, nil, usualAckWait)
	w.sendMsg(t, binary(t, "18", "inventory.emptied", "{"+oneTea+"}"))
	w.sendMsg(t, binary(t, "19", "inventory.restocked", "no JSON"))

	w.awaitAllDone(t)

	found := map[string]string{} // the reason by the event's id
	for _, letter := range w.deadLetters(t) {
		found[letter.Header.Get("ce-id")] = letter.Header.Get(events.HeaderReason)
	}
	if diff := cmp.Diff(map[string]string{"18": events.CodeUnreadable, "19": events.CodeUnreadable}, found); diff != "" {
		t.Errorf("dead letters (-want +got):\n%s", diff)
	}
}

func TestConsumer_ReadsDataInBase64(t *testing.T) {
	t.Parallel()
	w, s := newWarehouse(t), newShop(t)
	s.addProduct(t, "tea")
	w.startReplica(t, s.restock, usualAckWait)
	envelope := func(id, more string) string {
		return `{"specversion":"1.0","id":"` + id + `","source":"/warehouse/1","type":"inventory.restocked"` + more + `}`
	}
	five := `,"data_base64":"` + base64.StdEncoding.EncodeToString([]byte("{"+fiveTeas+"}")) + `"`
	w.send(t, envelope("1", five))
	for i, more := range []string{`,"data_base64":"?"`, `,"data_base64":"` + base64.StdEncoding.EncodeToString([]byte("tea")) + `"`, five + `,"data":{` + oneTea + `}`} {
		w.send(t, envelope("bad-"+string(rune('a'+i)), more))
	}

	w.awaitAllDone(t)

	s.wantOnHand(t, "tea", 5)
	if n := len(w.deadLetters(t)); n != 3 {
		t.Errorf("%d dead letters, want 3", n)
	}
}

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
