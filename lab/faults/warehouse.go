package faults

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"example.com/orders/internal/adapters/in/events"
	"example.com/orders/internal/test/e2e"
	natstest "example.com/orders/internal/test/nats"
)

// source is the sender in a run's warehouse messages.
const source = "/warehouse/1"

// warehouse sends messages about new stock.
type warehouse struct {
	js jetstream.JetStream

	mu sync.Mutex
	// good are the announced deliveries by message id. A message may be sent twice.
	good map[string]restocked
	// acknowledged are those whose messages went to a lost database.
	acknowledged map[string]restocked
	// broken are messages that can never be processed.
	broken map[string]bool
}

type restocked struct {
	sku      string
	quantity int
}

// newWarehouse connects to the broker and waits until a replica has prepared the
// stream.
func newWarehouse(t testing.TB, streams natstest.Address) *warehouse {
	t.Helper()
	w := &warehouse{js: natstest.JetStream(t, streams), good: map[string]restocked{}, broken: map[string]bool{}}
	e2e.Eventually(t, "the replicas consume messages", func() bool { return w.consumer(t) != nil })
	return w
}

// consumer returns the state of the replicas' shared consumer, nil while there is none.
func (w *warehouse) consumer(t testing.TB) *jetstream.ConsumerInfo {
	t.Helper()
	consumer, err := w.js.Consumer(t.Context(), events.Stream, "orders-restock")
	if err != nil {
		return nil
	}
	return consumer.CachedInfo()
}

// shortenAckWait lets the broker redeliver a killed process's messages soon. A starting
// replica restores the usual time.
func (w *warehouse) shortenAckWait(t testing.TB) {
	t.Helper()
	const short = time.Second
	consumer := w.consumer(t)
	if consumer == nil || consumer.Config.AckWait == short {
		return
	}
	consumer.Config.AckWait = short
	if _, err := w.js.UpdateConsumer(t.Context(), events.Stream, consumer.Config); err != nil {
		t.Fatal(err)
	}
}

// restock sends a good message, perhaps twice, or a broken one.
func (c *client) restock() {
	c.keys++
	id := fmt.Sprintf("delivery-%d-%d", c.number, c.keys)
	r := restocked{oneOf(c.random, products).sku, 1 + c.random.IntN(4)}
	body := fmt.Sprintf(`{"specversion":"1.0","id":%q,"source":%q,"type":"inventory.restocked","data":{"sku":%q,"quantity":%d}}`,
		id, source, r.sku, r.quantity)
	switch c.random.IntN(6) {
	case 0:
		c.publishBroken(body[:len(body)-2])
	case 1:
		c.publishBroken(strings.Replace(body, r.sku, "unknown", 1))
	case 2, 3:
		c.publish(body)
		c.Counters.Add("messages sent twice", 1)
		fallthrough
	default:
		c.publish(body)
		c.Counters.Add("messages", 1)
		c.world.warehouse.note(id, r)
	}
}

func (w *warehouse) note(id string, r restocked) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.good[id] = r
}

// publishBroken sends a message that can never be processed.
func (c *client) publishBroken(body string) {
	w := c.world.warehouse
	w.mu.Lock()
	w.broken[body] = true
	w.mu.Unlock()
	c.publish(body)
	c.Counters.Add("broken messages", 1)
}

// isBroken reports whether a message was sent as a broken one.
func (w *warehouse) isBroken(body string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.broken[body]
}

// restocked returns deliveries announced by good messages, by message id.
func (w *world) restocked() map[string]restocked { return w.warehouse.good }

// publish sends a message until the broker acknowledges it. So it may arrive more than
// once.
func (c *client) publish(body string) {
	for deadline := time.Now().Add(e2e.Patience); time.Now().Before(deadline); {
		if _, err := c.world.warehouse.js.Publish(c.t.Context(), events.Subject, []byte(body)); err == nil {
			return
		}
		c.wait()
	}
	c.t.Errorf("the broker does not take a message in time: %s", body)
}
