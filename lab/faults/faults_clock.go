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
	pgtest "example.com/orders/internal/test/pg"
	"example.com/orders/lab/history"
)

// clockFaults are clocks that differ.
var clockFaults = []Fault{
	{
		Name: "moved-clock", Number: "F8",
		Needs:  Needs{Database: onMovableClock},
		Strike: moveClock,
		Proof: []string{
			"replays two clocks apart", "keys spent by the database's clock", "reservations expired by the database's clock",
			"payments while the clock was ahead", "payments while the clock was behind",
		},
	},
}

// onMovableClock moves the system to a server with a movable clock.
func onMovableClock(t testing.TB, s *System) {
	t.Helper()
	s.Server, s.Clock = startClockServer(t)
	s.DatabaseURL = pgtest.NewOn(t, s.Server)
}

// refusalTTL is the default time to replay a refusal. The clock stays within a day,
// after which the service deletes published events.
const refusalTTL = 6 * time.Hour

// moveClock moves the database clock. Expiry in the database follows it. Tokens do not,
// because the replicas check them.
func moveClock(t testing.TB, s *System, random *rand.Rand) {
	t.Helper()
	customer := s.newCustomer(t, s.draw(random))
	credit, charge := s.CreditCall(t, customer, "1.00"), s.ChargeCall(t, customer, "10.00")
	credited, refused := s.decide(t, s.draw(random), credit), s.decide(t, s.draw(random), charge)
	if credited.Verdict() != "201" || refused.Verdict() != "402 insufficient_funds" {
		t.Errorf("a credit and a charge: %s and %s, want 201 and 402", credited.Verdict(), refused.Verdict())
	}
	s.replayEverywhere(t, charge, refused)
	knows := s.draw(random)
	again := s.ChargeCall(t, customer, "10.00")
	s.service(knows).WantProblem(t, http.StatusPaymentRequired, "insufficient_funds", again)
	order := s.newOrder(t, s.draw(random))

	s.move(t, refusalTTL-time.Hour)
	s.replayEverywhere(t, charge, refused)
	s.pay(t, random, "payments while the clock was ahead")
	e2e.Eventually(t, "the reservation is released", func() bool {
		return s.Count(t, `SELECT count(*) FROM orders WHERE id = $1 AND reserved_until IS NULL`, order.ID) == 1
	})
	s.Counters.Add("reservations expired by the database's clock", 1)

	s.move(t, refusalTTL+time.Hour)
	for _, r := range s.Replicas {
		s.service(r).WantProblem(t, http.StatusConflict, "idempotency_key_reused", charge.WithBody(credit.Body))
	}
	s.replayEverywhere(t, credit, credited)
	s.wantCredited(t, s.draw(random), s.CreditCall(t, customer, "20.00"))
	// Only a replica without this refusal in memory asks the database. The other
	// replays it for the lifetime that it read then.
	s.service(s.other(knows)).WantProblem(t, http.StatusConflict, "idempotency_key_spent", again)
	s.wantCredited(t, s.other(knows), again.WithKey(s.NewKey()))
	s.Counters.Add("keys spent by the database's clock", 1)

	s.move(t, -3*time.Hour)
	s.pay(t, random, "payments while the clock was behind")
	order = s.newOrder(t, s.draw(random))
	s.awaitAttempts(t, pause)
	s.service(s.draw(random)).WantOrderStatus(t, order.ID, "pending_payment")

	s.move(t, 0)
	// Jobs scheduled by the advanced clock would wait until real time catches up.
	s.Exec(t, `UPDATE river.river_job SET state = 'available', scheduled_at = now()
		WHERE state IN ('available', 'running', 'retryable') AND greatest(scheduled_at, attempted_at) > now() + interval '10 minutes'`)
}

// replayEverywhere wants the stored response from each replica.
func (s *System) replayEverywhere(t testing.TB, c e2e.Call, first e2e.Reply) {
	t.Helper()
	for _, r := range s.Replicas {
		if got := s.decide(t, r, c); !got.SameAs(first) || !got.Replayed() {
			t.Errorf("replica %d: %d %s %v, want a replay of %s", r.Number, got.Status, got.Body, got.Header, first.Body)
		}
		s.Counters.Add("replays two clocks apart", 1)
	}
}

// pay pays an order by card.
func (s *System) pay(t testing.TB, random *rand.Rand, counter string) {
	t.Helper()
	p := s.service(s.draw(random)).MustPayByCard(t, s.newOrder(t, s.draw(random)).ID, "pm_card_visa")
	s.awaitPayment(t, p, "captured")
	s.wantCharges(t, p, 1)
	s.Counters.Add(counter, 1)
}

// move moves the database clock and lets the clients work. The history records the keys
// that expire.
func (s *System) move(t testing.TB, ahead time.Duration) {
	t.Helper()
	began := s.History.Now()
	s.noteExpiry(t, began, `SELECT scope, key FROM idempotency_record`)
	s.Clock.Move(t, ahead)
	s.noteExpiry(t, began, `SELECT scope, key FROM idempotency_record WHERE expires_at < now()`)
	s.awaitAttempts(t, pause)
}

// noteExpiry adds records that may have expired to the history.
func (s *System) noteExpiry(t testing.TB, began time.Duration, records string) {
	t.Helper()
	type id struct{ Scope, Key string }
	var ids []id
	e2e.Eventually(t, "the database answers", func() bool {
		rows, _ := s.DB.Query(t.Context(), records) // CollectRows returns the error
		var err error
		ids, err = pgx.CollectRows(rows, pgx.RowToStructByPos[id])
		return answered(t, err)
	})
	for _, i := range ids {
		s.History.Add(history.Attempt{
			Client: firstProbe, Scope: strings.TrimPrefix(i.Scope, devissuer.Name+" "), Key: i.Key, Operation: history.Expiry,
			Start: began, End: s.History.Now(), Outcome: history.Unknown,
		})
	}
}
