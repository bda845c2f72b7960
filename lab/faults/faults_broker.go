package faults

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// brokerFaults break the broker or the link to it.
var brokerFaults = []Fault{
	{
		Name: "bad-broker", Number: "F14", Short: true,
		Needs:  Needs{BrokerLink: true},
		Strike: strikeBroker,
		Proof: []string{
			"events stored without an acknowledgement", "events that waited for the broker",
			"acknowledgements sent twice", "events whose acknowledgement was late",
		},
	},
}

// strikeBroker breaks the broker in each way, in random order.
func strikeBroker(t testing.TB, s *System, random *rand.Rand) {
	t.Helper()
	ways := []func(testing.TB, *System){loseAcknowledgements, haltBroker, repeatAcknowledgements, delayAcknowledgements}
	random.Shuffle(len(ways), func(i, j int) { ways[i], ways[j] = ways[j], ways[i] })
	for _, strike := range ways {
		s.awaitRelayed(t)
		strike(t, s)
	}
	s.awaitRelayed(t)
}

// awaitRelayed waits until the present events are published. From then on the relay
// publishes without asking for its stream.
func (s *System) awaitRelayed(t testing.TB) {
	t.Helper()
	newest := s.Count(t, `SELECT coalesce(max(id), 0) FROM outbox`)
	e2e.Eventually(t, "events are published", func() bool {
		return s.Count(t, `SELECT count(*) FROM outbox WHERE published_at IS NULL AND id <= $1`, newest) == 0
	})
}

// loseAcknowledgements loses the broker's answers and then breaks the connections, so
// that the stream has events that are not marked as published.
func loseAcknowledgements(t testing.TB, s *System) {
	t.Helper()
	s.BrokerLink.SetHook(func([]byte) []byte { return nil })
	stored := s.awaitStoredUnmarked(t)
	s.BrokerLink.Cut()
	s.BrokerLink.SetHook(nil)
	s.Counters.Add("events stored without an acknowledgement", stored)
}

// delayAcknowledgements holds the broker's answers for a while.
func delayAcknowledgements(t testing.TB, s *System) {
	t.Helper()
	released, release := e2e.NewSignal()
	defer release()
	s.BrokerLink.SetHook(func(answer []byte) []byte {
		<-released
		return answer
	})
	stored := s.awaitStoredUnmarked(t)
	s.BrokerLink.SetHook(nil)
	s.Counters.Add("events whose acknowledgement was late", stored)
}

// awaitStoredUnmarked waits until the stream has events that are not marked as
// published, and counts them.
func (s *System) awaitStoredUnmarked(t testing.TB) (n int) {
	t.Helper()
	events := s.newEventReader(t)
	events.mustRead(t) // skip older events
	e2e.Eventually(t, "the broker stores events that are not marked", func() bool {
		stored := events.mustRead(t)
		n = s.Count(t, `SELECT count(*) FROM outbox WHERE published_at IS NULL AND event_id::text = ANY($1)`, stored)
		return n > 0
	})
	return n
}

// haltBroker stops the broker while clients work for a while.
func haltBroker(t testing.TB, s *System) {
	t.Helper()
	s.Broker.Halt()
	s.awaitAttempts(t, pause)
	e2e.Eventually(t, "events wait", func() bool { return s.countUnpublished(t) > 0 })
	s.Counters.Add("events that waited for the broker", s.countUnpublished(t))
	if err := s.Broker.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// repeatAcknowledgements sends the broker's acknowledgements twice.
func repeatAcknowledgements(t testing.TB, s *System) {
	t.Helper()
	const twice = "acknowledgements sent twice"
	s.BrokerLink.SetHook(func(answer []byte) []byte {
		if !bytes.HasPrefix(answer, []byte("MSG ")) || !bytes.HasSuffix(answer, []byte("\r\n")) {
			return answer
		}
		s.Counters.Add(twice, 1)
		return bytes.Repeat(answer, 2)
	})
	s.Counters.awaitMore(t, twice, 1)
	s.awaitAttempts(t, pause)
	s.BrokerLink.SetHook(nil)
}

func (s *System) countUnpublished(t testing.TB) int {
	t.Helper()
	return s.Count(t, `SELECT count(*) FROM outbox WHERE published_at IS NULL`)
}
