package faults

import (
	"math/rand/v2"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// brokerFaults are faults of the broker and of the link to it.
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

// strikeBroker breaks the broker in each way, in a drawn order.
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

// awaitRelayed waits until the events that are there now are published: then the relay has
// found its stream, and publishes without asking for it.
func (s *System) awaitRelayed(t testing.TB) {
	t.Helper()
	newest := s.Count(t, `SELECT coalesce(max(id), 0) FROM outbox`)
	e2e.Eventually(t, "events are published", func() bool {
		return s.Count(t, `SELECT count(*) FROM outbox WHERE published_at IS NULL AND id <= $1`, newest) == 0
	})
}

// loseAcknowledgements loses what the broker answers, and then breaks the connections, so
// that events are in the stream that are not marked as published.
func loseAcknowledgements(t testing.TB, s *System) {
	t.Helper()
	s.BrokerLink.set(loseAnswers)
	stored := s.awaitStoredUnmarked(t)
	s.BrokerLink.Cut()
	s.BrokerLink.set(passAnswers)
	s.Counters.Add("events stored without an acknowledgement", stored)
}

// delayAcknowledgements holds what the broker answers for a while.
func delayAcknowledgements(t testing.TB, s *System) {
	t.Helper()
	s.BrokerLink.set(holdAnswers)
	stored := s.awaitStoredUnmarked(t)
	s.BrokerLink.set(passAnswers)
	s.Counters.Add("events whose acknowledgement was late", stored)
}

// awaitStoredUnmarked waits until events are in the stream that are not marked as published,
// and returns how many.
func (s *System) awaitStoredUnmarked(t testing.TB) (n int) {
	t.Helper()
	events := s.newEventReader(t)
	events.mustRead(t) // those before do not count
	e2e.Eventually(t, "the broker stores events that are not marked", func() bool {
		stored := events.mustRead(t)
		n = s.Count(t, `SELECT count(*) FROM outbox WHERE published_at IS NULL AND event_id::text = ANY($1)`, stored)
		return n > 0
	})
	return n
}

// haltBroker stops the broker until clients have worked for a while.
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

// repeatAcknowledgements sends what the broker answers twice.
func repeatAcknowledgements(t testing.TB, s *System) {
	t.Helper()
	before := s.BrokerLink.twice.Load()
	s.BrokerLink.set(repeatAnswers)
	e2e.Eventually(t, "answers come twice", func() bool { return s.BrokerLink.twice.Load() > before })
	s.awaitAttempts(t, pause)
	s.BrokerLink.set(passAnswers)
	s.Counters.Add("acknowledgements sent twice", int(s.BrokerLink.twice.Load()-before))
}

func (s *System) countUnpublished(t testing.TB) int {
	t.Helper()
	return s.Count(t, `SELECT count(*) FROM outbox WHERE published_at IS NULL`)
}
