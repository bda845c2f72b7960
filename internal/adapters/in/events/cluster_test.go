package events_test

import (
	"fmt"
	"testing"
	"time"

	"example.com/orders/internal/adapters/in/events"
	testlog "example.com/orders/internal/test/log"
	natstest "example.com/orders/internal/test/nats"
	testwait "example.com/orders/internal/test/wait"
)

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
