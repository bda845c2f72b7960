package events_test

import (
	"bytes"
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

	"example.com/orders/internal/adapters/in/events"
	"example.com/orders/internal/core/order"
	natstest "example.com/orders/internal/test/nats"
	testwait "example.com/orders/internal/test/wait"
)

func TestConsumer_LogsWhatAPanicIsAbout(t *testing.T) {
	t.Parallel()
	w := newWarehouse(t)
	var log bytes.Buffer
	var calls atomic.Int64
	consumer, err := events.New(events.Config{
		Conn: natstest.Connect(t, w.broker), Log: zerolog.New(&log),
		Restock: func(context.Context, order.Restock) error { calls.Add(1); panic("no such unit") },
	})
	if err != nil {
		t.Fatal(err)
	}
	stop := natstest.Run(t, consumer.Run)
	testwait.Until(t, "the use case panics", func() bool {
		if calls.Load() == 0 { // until the consumer has created the stream
			_, _ = w.js.Publish(t.Context(), events.Subject, []byte(restocked("1", oneTea)))
		}
		return calls.Load() > 0
	})
	stop()

	if line := log.String(); !strings.Contains(line, "message retried later") || !strings.Contains(line, "panic: no such unit") {
		t.Errorf("the log is %s", line)
	}
}
