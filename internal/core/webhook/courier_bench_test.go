package webhook_test

import (
	"testing"

	testwait "example.com/orders/internal/test/wait"
)

// BenchmarkCourier measures how long one endpoint waits for 10,000 events that two more
// endpoints get as well: one hangs, and one answers 500.
func BenchmarkCourier(b *testing.B) {
	const events = 10_000
	for b.Loop() {
		b.StopTimer()
		f := newFixture(b)
		f.addEndpoints(b, "hangs", "fails", "works")
		f.execute(b, `INSERT INTO outbox (type, aggregate, data, created_at)
			SELECT 'order.paid', 'order/' || n, '{"seller_id": "shop"}', now() FROM generate_series(1, $1) n`, events)
		r := newReceivers(answers{"hangs": hangs(b), "fails": fails(500)})
		b.StartTimer()

		f.start(b, r)

		testwait.Until(b, "the third endpoint has all events", func() bool { return len(r.bodies("works")) == events })
	}
}
