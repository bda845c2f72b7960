package faults

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"example.com/orders/internal/adapters/in/events"
	devbroker "example.com/orders/internal/dev/broker"
	"example.com/orders/internal/test/e2e"
	natstest "example.com/orders/internal/test/nats"
)

// source is the warehouse that sends the messages of a run.
const source = "/warehouse/1"

// warehouse is the sender of messages about new stock.
type warehouse struct {
	js jetstream.JetStream

	mu sync.Mutex
	// restocked is what good messages announced, by their id. One may be sent twice.
	restocked map[string]restocked
}

type restocked struct {
	sku      string
	quantity int
}

// newWarehouse connects to the broker and waits until a replica has prepared the stream.
func newWarehouse(t testing.TB, broker *devbroker.Broker) *warehouse {
	t.Helper()
	w := &warehouse{js: natstest.JetStream(t, broker), restocked: map[string]restocked{}}
	e2e.Eventually(t, "the replicas consume messages", func() bool { return w.consumer(t) != nil })
	return w
}

// consumer returns the state of the consumer that the replicas share, nil while there is
// none.
func (w *warehouse) consumer(t testing.TB) *jetstream.ConsumerInfo {
	t.Helper()
	consumer, err := w.js.Consumer(t.Context(), events.Stream, "orders-restock")
	if err != nil {
		return nil
	}
	return consumer.CachedInfo()
}

// restock sends a message: a good one, perhaps twice, or one that can never be processed.
func (c *client) restock() {
	c.keys++
	id := fmt.Sprintf("delivery-%d-%d", c.number, c.keys)
	r := restocked{oneOf(c.random, products).sku, 1 + c.random.IntN(4)}
	body := fmt.Sprintf(`{"specversion":"1.0","id":%q,"source":%q,"type":"inventory.restocked","data":{"sku":%q,"quantity":%d}}`,
		id, source, r.sku, r.quantity)
	switch c.random.IntN(6) {
	case 0:
		c.publish(`{"specversion":"1.0","id":`)
		c.Counters.Add("broken messages", 1)
		return
	case 1:
		c.publish(fmt.Sprintf(`{"specversion":"1.0","id":%q,"source":%q,"type":"inventory.restocked","data":{"sku":"unknown","quantity":1}}`, id, source))
		c.Counters.Add("broken messages", 1)
		return
	case 2, 3:
		c.publish(body)
		c.Counters.Add("messages sent twice", 1)
	}
	c.publish(body)
	c.Counters.Add("messages", 1)
	c.world.warehouse.note(id, r)
}

func (w *warehouse) note(id string, r restocked) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.restocked[id] = r
}

// publish sends a message until the broker acknowledges it. So it may arrive more than once.
func (c *client) publish(body string) {
	for deadline := time.Now().Add(e2e.Patience); time.Now().Before(deadline); {
		if _, err := c.world.warehouse.js.Publish(c.t.Context(), events.Subject, []byte(body)); err == nil {
			return
		}
		c.wait()
	}
	c.t.Errorf("the broker does not take a message in time: %s", body)
}
