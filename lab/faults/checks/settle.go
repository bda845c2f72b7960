package checks

import (
	"fmt"
	"strings"
	"time"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/lab/faults/clients"
)

// countOpenWork counts open work by name.
const countOpenWork = `
	SELECT (SELECT count(*) FROM payment WHERE status = 'processing'),
	       (SELECT count(*) FROM refund WHERE status = 'pending'),
	       (SELECT count(*) FROM river.river_job WHERE kind IN ('settle_payment', 'settle_refund')
	        AND state NOT IN ('completed', 'cancelled', 'discarded')),
	       (SELECT count(*) FROM orders WHERE status = 'pending_payment' AND reserved_until < now()),
	       (SELECT count(*) FROM outbox WHERE published_at IS NULL)`

// settlePause is the polling interval.
const settlePause = 100 * time.Millisecond

// settle waits until no work is open: payments and refunds are decided, and events,
// webhooks and messages have arrived. Every fault is healed by then.
func settle(l *clients.Load) {
	// A killed process may have held this for a while.
	l.Exec(l.T, `DELETE FROM river.river_leader`)
	l.Exec(l.T, `UPDATE relay_lease SET until = '-infinity'`)
	var open []string
	for range e2e.Patience / settlePause {
		if open = openWork(l); len(open) == 0 {
			return
		}
		hurry(l)
		time.Sleep(settlePause)
	}
	l.T.Fatalf("not settled within %s: %s", e2e.Patience, strings.Join(open, ", "))
}

// hurry makes jobs and messages from a killed process due now, before River and the
// broker do. Processing one twice must do no harm.
func hurry(l *clients.Load) {
	l.Exec(l.T, `UPDATE river.river_job SET state = 'available', scheduled_at = now()
		WHERE kind IN ('settle_payment', 'settle_refund')
		AND (state IN ('retryable', 'scheduled') OR state = 'running' AND attempted_at < now() - interval '2 seconds')`)
	l.Exec(l.T, `INSERT INTO river.river_job (kind, args, max_attempts, priority, queue, state)
		SELECT kind, '{}', 2, 1, 'reservations', 'available' FROM (SELECT 'release_expired_reservations' AS kind) job
		WHERE NOT EXISTS (SELECT FROM river.river_job other WHERE other.kind = job.kind AND state = 'available')`)
	l.Memory.Warehouse.ShortenAckWait(l.T)
}

// openWork returns open work.
func openWork(l *clients.Load) []string {
	var payments, refunds, jobs, reservations, events, webhooks int
	if err := l.DB.QueryRow(l.T.Context(), countOpenWork).Scan(&payments, &refunds, &jobs, &reservations, &events); err != nil {
		l.T.Fatal(err)
	}
	sent, err := l.Provider.Webhooks(l.T.Context())
	if err != nil {
		l.T.Fatal(err)
	}
	for _, w := range sent {
		if !w.Delivered {
			webhooks++
		}
	}
	messages := -1
	if consumer := l.Memory.Warehouse.Consumer(l.T); consumer != nil {
		messages = int(consumer.NumPending) + consumer.NumAckPending
	}
	var open []string
	for what, n := range map[string]int{
		"payments": payments, "refunds": refunds, "jobs": jobs, "expired reservations": reservations,
		"events": events, "webhooks": webhooks, "messages": messages,
	} {
		if n != 0 {
			open = append(open, fmt.Sprintf("%d %s", n, what))
		}
	}
	return open
}
