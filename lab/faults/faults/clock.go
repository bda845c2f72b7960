package faults

import (
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	devissuer "example.com/orders/internal/dev/issuer"
	"example.com/orders/internal/test/e2e"
	"example.com/orders/lab/faults/clients"
	"example.com/orders/lab/faults/world"
	"example.com/orders/lab/history"
)

// clockFaults are clocks that differ.
var clockFaults = []Fault{
	{
		Name: "moved-clock", Number: "F8",
		Needs:  world.Needs{Database: world.OnMovableClock},
		Strike: moveClock,
		Proof: []string{
			"replays two clocks apart", "keys spent by the database's clock", "reservations expired by the database's clock",
			"payments while the clock was ahead", "payments while the clock was behind",
		},
	},
}

// refusalTTL is the default time to replay a refusal. The clock stays within a day,
// after which the service deletes published events.
const refusalTTL = 6 * time.Hour

// moveClock moves the database clock. Expiry in the database follows it. Tokens do not,
// because the replicas check them.
func moveClock(t testing.TB, l *clients.Load, random *rand.Rand) {
	t.Helper()
	customer := l.NewCustomer(t, l.Draw(random))
	credit, charge := l.CreditCall(t, customer, "1.00"), l.ChargeCall(t, customer, "10.00")
	credited, refused := l.Decide(t, l.Draw(random), credit), l.Decide(t, l.Draw(random), charge)
	if credited.Verdict() != "201" || refused.Verdict() != "402 insufficient_funds" {
		t.Errorf("a credit and a charge: %s and %s, want 201 and 402", credited.Verdict(), refused.Verdict())
	}
	replayEverywhere(t, l, charge, refused)
	knows := l.Draw(random)
	again := l.ChargeCall(t, customer, "10.00")
	l.ServiceAt(knows).WantProblem(t, http.StatusPaymentRequired, "insufficient_funds", again)
	order := l.NewOrder(t, l.Draw(random))

	move(t, l, refusalTTL-time.Hour)
	replayEverywhere(t, l, charge, refused)
	pay(t, l, random, "payments while the clock was ahead")
	e2e.Eventually(t, "the reservation is released", func() bool {
		return l.Count(t, `SELECT count(*) FROM orders WHERE id = $1 AND reserved_until IS NULL`, order.ID) == 1
	})
	l.Counters.Add("reservations expired by the database's clock", 1)

	move(t, l, refusalTTL+time.Hour)
	for _, r := range l.Replicas {
		l.ServiceAt(r).WantProblem(t, http.StatusConflict, "idempotency_key_reused", charge.WithBody(credit.Body))
	}
	replayEverywhere(t, l, credit, credited)
	l.WantCredited(t, l.Draw(random), l.CreditCall(t, customer, "20.00"))
	// Only a replica without this refusal in memory asks the database. The other
	// replays it for the lifetime that it read then.
	l.ServiceAt(l.Other(knows)).WantProblem(t, http.StatusConflict, "idempotency_key_spent", again)
	l.WantCredited(t, l.Other(knows), again.WithKey(l.NewKey()))
	l.Counters.Add("keys spent by the database's clock", 1)

	move(t, l, -3*time.Hour)
	pay(t, l, random, "payments while the clock was behind")
	order = l.NewOrder(t, l.Draw(random))
	l.AwaitAttempts(t, clients.Pause)
	l.ServiceAt(l.Draw(random)).WantOrderStatus(t, order.ID, "pending_payment")

	move(t, l, 0)
	// Jobs scheduled by the advanced clock would wait until real time catches up.
	l.Exec(t, `UPDATE river.river_job SET state = 'available', scheduled_at = now()
		WHERE state IN ('available', 'running', 'retryable') AND greatest(scheduled_at, attempted_at) > now() + interval '10 minutes'`)
}

// replayEverywhere wants the stored response from each replica.
func replayEverywhere(t testing.TB, l *clients.Load, c e2e.Call, first e2e.Reply) {
	t.Helper()
	for _, r := range l.Replicas {
		if got := l.Decide(t, r, c); !got.SameAs(first) || !got.Replayed() {
			t.Errorf("replica %d: %d %s %v, want a replay of %s", r.Number, got.Status, got.Body, got.Header, first.Body)
		}
		l.Counters.Add("replays two clocks apart", 1)
	}
}

// pay pays an order by card.
func pay(t testing.TB, l *clients.Load, random *rand.Rand, counter string) {
	t.Helper()
	p := l.ServiceAt(l.Draw(random)).MustPayByCard(t, l.NewOrder(t, l.Draw(random)).ID, "pm_card_visa")
	l.AwaitPayment(t, p, "captured")
	l.WantCharges(t, p, 1)
	l.Counters.Add(counter, 1)
}

// move moves the database clock and lets the clients work. The history records the keys
// that expire.
func move(t testing.TB, l *clients.Load, ahead time.Duration) {
	t.Helper()
	began := l.History.Now()
	noteExpiry(t, l, began, `SELECT scope, key FROM idempotency_record`)
	l.Clock.Move(t, ahead)
	noteExpiry(t, l, began, `SELECT scope, key FROM idempotency_record WHERE expires_at < now()`)
	l.AwaitAttempts(t, clients.Pause)
}

// noteExpiry adds records that may have expired to the history.
func noteExpiry(t testing.TB, l *clients.Load, began time.Duration, records string) {
	t.Helper()
	type id struct{ Scope, Key string }
	var ids []id
	e2e.Eventually(t, "the database answers", func() bool {
		rows, _ := l.DB.Query(t.Context(), records) // CollectRows returns the error
		var err error
		ids, err = pgx.CollectRows(rows, pgx.RowToStructByPos[id])
		return world.Answered(t, err)
	})
	for _, i := range ids {
		l.History.Add(history.Attempt{
			Client: clients.FirstProbe, Scope: strings.TrimPrefix(i.Scope, devissuer.Name+" "), Key: i.Key, Operation: history.Expiry,
			Start: began, End: l.History.Now(), Outcome: history.Unknown,
		})
	}
}
