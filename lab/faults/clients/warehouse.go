package clients

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

// WarehouseSource is the sender in a run's warehouse messages.
const WarehouseSource = "/warehouse/1"

// Warehouse sends messages about new stock.
type Warehouse struct {
	js jetstream.JetStream

	mu sync.Mutex
	// Good are the announced deliveries by message id. A message may be sent twice.
	Good map[string]Restocked
	// Acknowledged are those whose messages went to a lost database.
	Acknowledged map[string]Restocked
	// Broken are messages that can never be processed.
	Broken map[string]bool
}

// Restocked is an announced delivery.
type Restocked struct {
	SKU      string
	Quantity int
}

// newWarehouse connects to the broker and waits until a replica has prepared the
// stream.
func newWarehouse(t testing.TB, streams natstest.Address) *Warehouse {
	t.Helper()
	w := &Warehouse{js: natstest.JetStream(t, streams), Good: map[string]Restocked{}, Broken: map[string]bool{}}
	e2e.Eventually(t, "the replicas consume messages", func() bool { return w.Consumer(t) != nil })
	return w
}

// Consumer returns the state of the replicas' shared consumer, nil while there is none.
func (w *Warehouse) Consumer(t testing.TB) *jetstream.ConsumerInfo {
	t.Helper()
	consumer, err := w.js.Consumer(t.Context(), events.Stream, "orders-restock")
	if err != nil {
		return nil
	}
	return consumer.CachedInfo()
}

// ShortenAckWait lets the broker redeliver a killed process's messages soon. A starting
// replica restores the usual time.
func (w *Warehouse) ShortenAckWait(t testing.TB) {
	t.Helper()
	const short = time.Second
	consumer := w.Consumer(t)
	if consumer == nil || consumer.Config.AckWait == short {
		return
	}
	consumer.Config.AckWait = short
	if _, err := w.js.UpdateConsumer(t.Context(), events.Stream, consumer.Config); err != nil {
		t.Fatal(err)
	}
}

// Restock sends a good message, perhaps twice, or a broken one.
func (c *Client) Restock() {
	id, r, body := c.newDelivery()
	switch c.Random.IntN(6) {
	case 0:
		c.publishBroken(body[:len(body)-2])
	case 1:
		c.publishBroken(strings.Replace(body, r.SKU, "unknown", 1))
	case 2, 3:
		c.publish(body)
		c.Counters.Add("messages sent twice", 1)
		fallthrough
	default:
		c.announce(id, r, body)
	}
}

// RestockUntilAcknowledged sends a good message and waits until the service has committed
// and acknowledged it: before, the broker may deliver it again.
func (c *Client) RestockUntilAcknowledged(t testing.TB) {
	t.Helper()
	sent := c.announce(c.newDelivery())
	e2e.Eventually(t, "a message is acknowledged", func() bool {
		consumer := c.Memory.Warehouse.Consumer(t)
		return consumer != nil && consumer.AckFloor.Stream >= sent
	})
}

// newDelivery returns a delivery with its message.
func (c *Client) newDelivery() (id string, r Restocked, body string) {
	c.keys++
	id = fmt.Sprintf("delivery-%d-%d", c.number, c.keys)
	r = Restocked{OneOf(c.Random, products).SKU, 1 + c.Random.IntN(4)}
	return id, r, fmt.Sprintf(`{"specversion":"1.0","id":%q,"source":%q,"type":"inventory.restocked","data":{"sku":%q,"quantity":%d}}`,
		id, WarehouseSource, r.SKU, r.Quantity)
}

// announce sends a good message and returns its number in the stream.
func (c *Client) announce(id string, r Restocked, body string) (sent uint64) {
	sent = c.publish(body)
	c.Counters.Add("messages", 1)
	c.Memory.Warehouse.note(id, r)
	return sent
}

func (w *Warehouse) note(id string, r Restocked) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Good[id] = r
}

// publishBroken sends a message that can never be processed.
func (c *Client) publishBroken(body string) {
	w := c.Memory.Warehouse
	w.mu.Lock()
	w.Broken[body] = true
	w.mu.Unlock()
	c.publish(body)
	c.Counters.Add("broken messages", 1)
}

// IsBroken reports whether a message was sent as a broken one.
func (w *Warehouse) IsBroken(body string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Broken[body]
}

// publish sends a message until the broker acknowledges it, so it may arrive more than
// once. It returns the number in the stream.
func (c *Client) publish(body string) (sent uint64) {
	for deadline := time.Now().Add(e2e.Patience); time.Now().Before(deadline); {
		if ack, err := c.Memory.Warehouse.js.Publish(c.T.Context(), events.Subject, []byte(body)); err == nil {
			return ack.Sequence
		}
		c.wait()
	}
	c.T.Errorf("the broker does not take a message in time: %s", body)
	return 0
}
