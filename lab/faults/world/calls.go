package world

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/test/e2e"
)

// Draw draws one replica.
func (s *System) Draw(random *rand.Rand) *Replica { return s.Replicas[random.IntN(len(s.Replicas))] }

// Other returns a replica that is not r.
func (s *System) Other(r *Replica) *Replica { return s.Replicas[(r.Number+1)%len(s.Replicas)] }

// ServiceAt returns a replica as a service for a strike's calls. Each call has a new
// connection, because net/http resends a call with an Idempotency-Key when a reused
// connection breaks.
func (s *System) ServiceAt(r *Replica) *e2e.Service {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: Patience}
	return &e2e.Service{Env: s.Env, URL: r.URL, Client: client}
}

// AwaitAttempts waits until the clients have made n more attempts.
func (s *System) AwaitAttempts(t testing.TB, n int) {
	t.Helper()
	target := s.Counters.Get("attempts") + n
	e2e.Eventually(t, "clients make more attempts", func() bool { return s.Counters.Get("attempts") >= target })
}

// Ending is the result when a strike's background call ends.
type Ending struct {
	Reply e2e.Reply
	Err   error
}

// SendAside sends a call in the background.
func (s *System) SendAside(t testing.TB, to *Replica, c e2e.Call) <-chan Ending {
	t.Helper()
	ended := make(chan Ending, 1)
	service := s.ServiceAt(to)
	go func() {
		reply, err := service.Try(context.WithoutCancel(t.Context()), t, c)
		ended <- Ending{reply, err}
	}()
	return ended
}

// Decide sends a call to a replica until its outcome is known.
func (s *System) Decide(t testing.TB, to *Replica, c e2e.Call) e2e.Reply {
	t.Helper()
	service := s.ServiceAt(to)
	var reply e2e.Reply
	e2e.Eventually(t, "the outcome of a call is known", func() bool {
		var err error
		reply, err = service.Try(t.Context(), t, c)
		return err == nil && reply.Status < http.StatusInternalServerError && reply.Code() != "idempotency_in_progress"
	})
	return reply
}

// WantCredited decides a balance change and checks that it took effect once.
func (s *System) WantCredited(t testing.TB, to *Replica, c e2e.Call) {
	t.Helper()
	if reply := s.Decide(t, to, c); reply.Status != http.StatusCreated {
		t.Errorf("%s: %d %s, want 201", c.Key, reply.Status, reply.Body)
	}
	if n := s.Count(t, `SELECT count(*) FROM ledger_entry WHERE idempotency_key = $1`, c.Key); n != 1 {
		t.Errorf("%s: %d effects, want 1", c.Key, n)
	}
}

// NewCustomer returns a customer who has a balance and is unknown to the clients.
func (s *System) NewCustomer(t testing.TB, by *Replica) string {
	t.Helper()
	customer := s.UniqueName("bystander")
	s.WantCredited(t, by, s.CreditCall(t, customer, "1.00"))
	return customer
}

// LockBalance locks the customer's balance row.
func (s *System) LockBalance(t testing.TB, customer string) e2e.RowLock {
	t.Helper()
	return s.LockRows(t, `SELECT FROM balance WHERE customer_id = $1 FOR UPDATE`, customer)
}

// NewOrder creates an order for a new product. It retries: a moved clock may end the
// transaction.
func (s *System) NewOrder(t testing.TB, by *Replica) (o e2e.Order) {
	t.Helper()
	sku := s.UniqueName("fault-sku")
	s.ServiceAt(by).PutProduct(t, sku, 5)
	reply := s.Decide(t, by, s.CreateOrderCall(t, e2e.Alice, sku, 2))
	if err := json.Unmarshal(reply.Body, &o); err != nil || reply.Status != http.StatusCreated {
		t.Fatalf("a new order: %d %s, %v", reply.Status, reply.Body, err)
	}
	return o
}

// AwaitPayment waits until a payment has a status.
func (s *System) AwaitPayment(t testing.TB, p e2e.Payment, status string) {
	t.Helper()
	e2e.Eventually(t, fmt.Sprintf("payment %d is decided", p.ID), func() bool { return s.PaymentStatus(t, p) != "processing" })
	if got := s.PaymentStatus(t, p); got != status {
		t.Errorf("payment %d is %s, want %s", p.ID, got, status)
	}
}

// PaymentStatus reads the status of a payment from the database.
func (s *System) PaymentStatus(t testing.TB, p e2e.Payment) (status string) {
	t.Helper()
	s.ReadValue(t, &status, `SELECT status FROM payment WHERE id = $1`, p.ID)
	return status
}

// WantCharges checks the number of charges that the provider captured for a 200.00
// payment, and that a captured payment refers to its charge.
func (s *System) WantCharges(t testing.TB, p e2e.Payment, count int) {
	t.Helper()
	charges, err := s.Provider.Charges(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	charge := charges[s.PaymentKey(t, p.ID)]
	if charge.Count != count || charge.Amount != int64(20000*count) {
		t.Errorf("payment %d: %d charges of %d, want %d of 20000 each", p.ID, charge.Count, charge.Amount, count)
	}
	var reference string
	s.ReadValue(t, &reference, `SELECT coalesce(external_payment_id, '') FROM payment WHERE id = $1`, p.ID)
	if count == 1 && reference != charge.ID {
		t.Errorf("payment %d has the reference %q, want %q", p.ID, reference, charge.ID)
	}
}

// RescueSettlements requeues running settlement jobs, as River does half a minute after
// their process died. A living process's jobs then run twice, which they must survive.
func (s *System) RescueSettlements(t testing.TB) {
	t.Helper()
	s.Exec(t, `UPDATE river.river_job SET state = 'available' WHERE state = 'running' AND kind IN ('settle_payment', 'settle_refund')`)
}

// LockUnpublished locks some unpublished events, at least one, and returns the
// transaction that holds them.
func (s *System) LockUnpublished(t testing.TB) (tx pgx.Tx, ids []string) {
	t.Helper()
	tx, err := s.DB.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) }) // a strike may have ended it
	e2e.Eventually(t, "events wait to be published", func() bool {
		rows, _ := tx.Query(t.Context(), `SELECT event_id::text FROM outbox WHERE published_at IS NULL FOR UPDATE`)
		ids, err = pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		return len(ids) > 0
	})
	return tx, ids
}
