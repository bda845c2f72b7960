package events_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"example.com/orders/internal/adapters/in/events"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	natstest "example.com/orders/internal/test/nats"
	pgtest "example.com/orders/internal/test/pg"
)

// TestEachMessageCountsOnce sends each message three times, to two replicas.
func TestEachMessageCountsOnce(t *testing.T) {
	t.Parallel()
	w, url := newWarehouse(t), pgtest.New(t)
	shops := []shop{openShop(t, url), openShop(t, url)}
	shops[0].sell(t, "tea")
	shops[0].sell(t, "mug")
	for _, s := range shops {
		w.consume(t, s.Restock, 0)
	}
	for range 3 {
		for n := range 20 {
			w.send(t, fmt.Sprintf(`{"id":"tea-%d","sku":"tea","quantity":%d}`, n, n+1))
			w.send(t, fmt.Sprintf(`{"id":"mug-%d","sku":"mug","quantity":1,"shelf":"new"}`, n))
		}
	}
	if delivered := w.awaitDone(t); delivered < 120 {
		t.Errorf("%d deliveries", delivered)
	}
	if tea, mugs := shops[0].onHand(t, "tea"), shops[0].onHand(t, "mug"); tea != 210 || mugs != 20 {
		t.Errorf("%d of tea and %d mugs", tea, mugs)
	}
}

func TestHeaderNamesAMessageWithoutID(t *testing.T) {
	t.Parallel()
	w := newWarehouse(t)
	got := make(chan order.Restock, 1)
	w.consume(t, func(_ context.Context, cmd order.Restock) error { got <- cmd; return nil }, 0)
	w.send(t, `{"sku":"tea","quantity":5}`, jetstream.WithMsgID("wh-1"))
	want := order.Restock{SKU: "tea", Quantity: 5, Source: "warehouse", MessageID: "wh-1"}
	if diff := cmp.Diff(want, <-got); diff != "" {
		t.Error(diff)
	}
	w.awaitDone(t)
}

// TestMessageWhoseAcknowledgementIsLost has a replica that vanishes after its commit.
func TestMessageWhoseAcknowledgementIsLost(t *testing.T) {
	t.Parallel()
	w, s := newWarehouse(t), openShop(t, pgtest.New(t))
	s.sell(t, "tea")
	conn := natstest.Connect(t, w.Broker)
	first := w.consumeOn(t, conn, func(ctx context.Context, cmd order.Restock) error {
		defer conn.Close()
		return s.Restock(ctx, cmd)
	}, time.Second)
	w.send(t, `{"id":"1","sku":"tea","quantity":5}`)
	eventually(t, "the first replica has done it", func() bool { return s.onHand(t, "tea") == 5 })
	first.stop()
	w.consume(t, s.Restock, time.Second)
	if delivered := w.awaitDone(t); delivered != 2 {
		t.Errorf("%d deliveries", delivered)
	}
	if n := s.onHand(t, "tea"); n != 5 {
		t.Errorf("%d on hand", n)
	}
}

// TestAcknowledgementComesAfterTheEffect looks while the use case is at work, also when
// the replica is told to end.
func TestAcknowledgementComesAfterTheEffect(t *testing.T) {
	t.Parallel()
	w := newWarehouse(t)
	entered, finish := make(chan struct{}), make(chan struct{})
	r := w.consume(t, func(ctx context.Context, _ order.Restock) error {
		close(entered)
		<-finish
		return ctx.Err()
	}, 0)
	w.send(t, `{"id":"1","sku":"tea","quantity":5}`)
	<-entered
	consumer, err := w.Consumer(t.Context(), events.Stream, "orders-restock")
	if err != nil {
		t.Fatal(err)
	}
	if pending := consumer.CachedInfo().NumAckPending; pending != 1 {
		t.Errorf("%d acknowledgements are awaited", pending)
	}
	r.cancel()
	close(finish) // what is in hand is finished
	<-r.ended
	w.awaitDone(t)
}

func TestLongWorkIsNotGivenToAnother(t *testing.T) {
	t.Parallel()
	w := newWarehouse(t)
	const ackWait = 500 * time.Millisecond
	var calls atomic.Int64
	long := func(context.Context, order.Restock) error {
		calls.Add(1)
		<-time.After(4 * ackWait) // the work
		return nil
	}
	w.consume(t, long, ackWait)
	w.consume(t, long, ackWait)
	w.send(t, `{"id":"1","sku":"tea","quantity":5}`)
	w.awaitDone(t)
	if n := calls.Load(); n != 1 {
		t.Errorf("%d calls", n)
	}
}

func TestWhatPassesIsTriedAgain(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func() error{
		"database away": func() error { return fmt.Errorf("restock: %w", core.ErrUnavailable) },
		"unknown":       func() error { return core.ErrOutcomeUnknown },
		"bug":           func() error { return errors.New("a bug") },
		"panic":         func() error { panic("a bug") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWarehouse(t)
			var calls atomic.Int64
			w.consume(t, func(context.Context, order.Restock) error {
				if calls.Add(1) < 3 {
					return fail()
				}
				return nil
			}, 0)
			began := time.Now()
			w.send(t, `{"id":"1","sku":"tea","quantity":5}`)
			w.awaitDone(t)
			if n := calls.Load(); n != 3 {
				t.Errorf("%d calls", n)
			}
			if took := time.Since(began); took < 1500*time.Millisecond { // half of 1 s and of 2 s
				t.Errorf("no back-off: %v", took)
			}
			if n := w.dead(t); len(n) != 0 {
				t.Errorf("%d dead messages", len(n))
			}
		})
	}
}

// dead gives the messages of the dead-letter stream.
func (w warehouse) dead(t *testing.T) []*jetstream.RawStreamMsg {
	t.Helper()
	stream, err := w.Stream(t.Context(), events.DeadStream)
	if err != nil {
		t.Fatal(err)
	}
	var all []*jetstream.RawStreamMsg
	for seq := uint64(1); seq <= stream.CachedInfo().State.LastSeq; seq++ {
		msg, err := stream.GetMsg(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, msg)
	}
	return all
}

// letter is what a test expects of a dead message.
type letter struct{ Subject, Reason, Body, Original, Sequence, Deliveries, MessageID string }

func TestPoisonIsPutAsideWithItsReason(t *testing.T) {
	t.Parallel()
	w, s := newWarehouse(t), openShop(t, pgtest.New(t))
	s.sell(t, "tea")
	w.consume(t, s.Restock, 0)
	poison := []struct{ body, reason string }{
		{`not json`, "unreadable_message"},
		{``, "unreadable_message"},
		{`{"id":"1","sku":"tea","quantity":1} {}`, "unreadable_message"},
		{`{"id":"2","sku":"tea","quantity":"five"}`, "unreadable_message"},
		{`{"id":"3","sku":"tea","quantity":1.5}`, "unreadable_message"},
		{`{"id":"4","sku":"tea","quantity":1000000001}`, "unreadable_message"},
		{`{"sku":"tea","quantity":1}`, "unreadable_message"},
		{`{"id":"` + strings.Repeat("x", 256) + `","sku":"tea","quantity":1}`, "unreadable_message"},
		{`{"id":"5\u0000","sku":"tea","quantity":1}`, "unreadable_message"},
		{`{"id":"6","sku":"te\u0000a","quantity":1}`, "unreadable_message"},
		{`{"id":"7","sku":"tea"}`, "validation_failed"},
		{`{"id":"8","sku":"tea","quantity":-1}`, "validation_failed"},
		{`{"id":"9","sku":"coffee","quantity":1}`, "not_found"},
	}
	var want []letter
	for i, p := range poison {
		w.send(t, p.body)
		want = append(want, letter{events.DeadSubject, p.reason, p.body, events.Subject, fmt.Sprint(i + 1), "1", ""})
	}
	w.send(t, `{"id":"good","sku":"tea","quantity":7}`)
	if delivered := w.awaitDone(t); delivered != uint64(len(poison)+1) {
		t.Errorf("%d deliveries", delivered)
	}
	if diff := cmp.Diff(want, w.letters(t), sortedBySequence); diff != "" {
		t.Error(diff)
	}
	if n := s.onHand(t, "tea"); n != 7 {
		t.Errorf("%d on hand", n)
	}
}

func (w warehouse) letters(t *testing.T) []letter {
	t.Helper()
	var all []letter
	for _, msg := range w.dead(t) {
		if msg.Header.Get(events.HeaderDetail) == "" {
			t.Error("no detail")
		}
		all = append(all, letter{
			msg.Subject, msg.Header.Get(events.HeaderReason), string(msg.Data),
			msg.Header.Get(events.HeaderSubject), msg.Header.Get(events.HeaderSequence),
			msg.Header.Get(events.HeaderDeliveries), msg.Header.Get(events.HeaderMessageID),
		})
	}
	return all
}

var sortedBySequence = cmp.Transformer("bySequence", func(letters []letter) map[string]letter {
	all := map[string]letter{}
	for _, l := range letters {
		all[l.Sequence] = l
	}
	return all
})

func TestHugePoisonIsCut(t *testing.T) {
	t.Parallel()
	w := newWarehouse(t)
	w.consume(t, nil, 0)
	limit := int(natstest.Connect(t, w.Broker).MaxPayload())
	w.send(t, strings.Repeat("x", limit-100), jetstream.WithMsgID("big"))
	w.awaitDone(t)
	letters := w.letters(t)
	if len(letters) != 1 || len(letters[0].Body) != 64<<10 || letters[0].MessageID != "big" {
		t.Errorf("%d dead messages", len(letters))
	}
}

// TestPoisonWaitsForTheDeadLetterStream takes the stream away: the message must not go
// before it is safe.
func TestPoisonWaitsForTheDeadLetterStream(t *testing.T) {
	t.Parallel()
	w := newWarehouse(t)
	w.consume(t, nil, 0)
	if err := w.DeleteStream(t.Context(), events.DeadStream); err != nil {
		t.Fatal(err)
	}
	w.send(t, "poison")
	eventually(t, "it comes back", func() bool {
		consumer, err := w.Consumer(t.Context(), events.Stream, "orders-restock")
		return err == nil && consumer.CachedInfo().NumRedelivered > 0
	})
	_, err := w.CreateStream(t.Context(), jetstream.StreamConfig{Name: events.DeadStream, Subjects: []string{"orders.dlq.>"}})
	if err != nil {
		t.Fatal(err)
	}
	w.awaitDone(t)
	if n := len(w.dead(t)); n != 1 {
		t.Errorf("%d dead messages", n)
	}
}

func TestConsumerOutlivesItsBroker(t *testing.T) {
	t.Parallel()
	w, s := newWarehouse(t), openShop(t, pgtest.New(t))
	s.sell(t, "tea")
	w.consume(t, s.Restock, time.Second)
	for n := range 3 {
		w.send(t, fmt.Sprintf(`{"id":"%d","sku":"tea","quantity":1}`, n))
		if err := w.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the broker is back", func() bool {
			_, err := w.AccountInfo(t.Context())
			return err == nil
		})
	}
	w.awaitDone(t)
	if n := s.onHand(t, "tea"); n != 3 {
		t.Errorf("%d on hand", n)
	}
}
