package faults

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/lab/faults/clients"
	"example.com/orders/lab/faults/world"
)

// brokerFaults break the broker or the link to it.
var brokerFaults = []Fault{
	{
		Name: "bad-broker", Number: "F14", Short: true,
		Needs:  world.Needs{BrokerLink: true},
		Strike: strikeBroker,
		Proof: []string{
			"events stored without an acknowledgement", "events that waited for the broker",
			"acknowledgements sent twice", "events whose acknowledgement was late",
		},
	},
}

// strikeBroker breaks the broker in each way, in random order.
func strikeBroker(t testing.TB, l *clients.Load, random *rand.Rand) {
	t.Helper()
	ways := []func(testing.TB, *clients.Load){loseAcknowledgements, haltBroker, repeatAcknowledgements, delayAcknowledgements}
	random.Shuffle(len(ways), func(i, j int) { ways[i], ways[j] = ways[j], ways[i] })
	for _, strike := range ways {
		awaitRelayed(t, l)
		strike(t, l)
	}
	awaitRelayed(t, l)
}

// awaitRelayed waits until the present events are published.
func awaitRelayed(t testing.TB, l *clients.Load) {
	t.Helper()
	newest := l.Count(t, `SELECT coalesce(max(id), 0) FROM outbox`)
	e2e.Eventually(t, "events are published", func() bool {
		return l.Count(t, `SELECT count(*) FROM outbox WHERE published_at IS NULL AND id <= $1`, newest) == 0
	})
}

// loseAcknowledgements loses the broker's answers and then breaks the connections, so
// that the stream has events that are not marked as published.
func loseAcknowledgements(t testing.TB, l *clients.Load) {
	t.Helper()
	l.BrokerLink.SetHook(func(answer []byte) []byte {
		if acknowledges(answer) {
			return nil
		}
		return answer
	})
	stored := awaitStoredUnmarked(t, l)
	l.BrokerLink.Cut()
	l.BrokerLink.SetHook(nil)
	l.Counters.Add("events stored without an acknowledgement", stored)
}

// delayAcknowledgements holds the broker's answers for a while.
func delayAcknowledgements(t testing.TB, l *clients.Load) {
	t.Helper()
	released, release := e2e.NewSignal()
	defer release()
	l.BrokerLink.SetHook(func(answer []byte) []byte {
		if acknowledges(answer) {
			<-released
		}
		return answer
	})
	stored := awaitStoredUnmarked(t, l)
	l.BrokerLink.SetHook(nil)
	l.Counters.Add("events whose acknowledgement was late", stored)
}

// acknowledges reports whether an answer acknowledges events. A replica that connects, or
// asks for its stream, publishes nothing before it has the other answers.
func acknowledges(answer []byte) bool { return bytes.Contains(answer, []byte(`"seq":`)) }

// awaitStoredUnmarked waits until the stream has events that are not marked as
// published, and counts them.
func awaitStoredUnmarked(t testing.TB, l *clients.Load) (n int) {
	t.Helper()
	events := l.NewEventReader(t)
	events.MustRead(t) // skip older events
	e2e.Eventually(t, "the broker stores events that are not marked", func() bool {
		stored := events.MustRead(t)
		n = l.Count(t, `SELECT count(*) FROM outbox WHERE published_at IS NULL AND event_id::text = ANY($1)`, stored)
		return n > 0
	})
	return n
}

// haltBroker stops the broker while clients work for a while.
func haltBroker(t testing.TB, l *clients.Load) {
	t.Helper()
	l.Broker.Halt()
	l.AwaitAttempts(t, clients.Pause)
	e2e.Eventually(t, "events wait", func() bool { return countUnpublished(t, l) > 0 })
	l.Counters.Add("events that waited for the broker", countUnpublished(t, l))
	if err := l.Broker.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// repeatAcknowledgements sends the broker's acknowledgements twice.
func repeatAcknowledgements(t testing.TB, l *clients.Load) {
	t.Helper()
	const twice = "acknowledgements sent twice"
	l.BrokerLink.SetHook(func(answer []byte) []byte {
		if !bytes.HasPrefix(answer, []byte("MSG ")) || !bytes.HasSuffix(answer, []byte("\r\n")) {
			return answer
		}
		l.Counters.Add(twice, 1)
		return bytes.Repeat(answer, 2)
	})
	l.Counters.AwaitMore(t, twice, 1)
	l.AwaitAttempts(t, clients.Pause)
	l.BrokerLink.SetHook(nil)
}

func countUnpublished(t testing.TB, l *clients.Load) int {
	t.Helper()
	return l.Count(t, `SELECT count(*) FROM outbox WHERE published_at IS NULL`)
}
