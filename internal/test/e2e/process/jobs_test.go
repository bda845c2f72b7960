package process_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"example.com/orders/internal/config"
	"example.com/orders/internal/test/e2e"
	testlog "example.com/orders/internal/test/log"
)

// The jobs run at the start of the service, and change only what has expired.
func TestJobs_ReleaseReservationsAndRemoveRecords(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 10})
	expired, live := s.MustCreateOrder(t, e2e.Alice, "tea", 3), s.MustCreateOrder(t, e2e.Alice, "tea", 2)
	s.ExpireReservation(t, expired.ID)
	records := s.Count(t, "SELECT count(*) FROM idempotency_record")
	s.Credit(t, e2e.Alice, "300.00")
	s.Exec(t, "UPDATE idempotency_record SET expires_at = now() WHERE operation = 'creditBalance'")

	stop := s.Run(t)
	e2e.Eventually(t, "nothing expired is left", func() bool {
		return s.Count(t, "SELECT count(*) FROM orders WHERE reserved_until <= now()") == 0 &&
			s.Count(t, "SELECT count(*) FROM idempotency_record") == records
	})
	stop()

	s.WantStock(t, "tea", 10, 2)
	if o := s.ReadOrder(t, expired.ID); o.Status != "pending_payment" || o.Reservation != nil || o.Version != expired.Version+1 {
		t.Errorf("after its reservation was released, the order is %+v", o)
	}
	if o := s.ReadOrder(t, live.ID); o.Reservation == nil || o.Version != live.Version {
		t.Errorf("the order with a live reservation is %+v", o)
	}
	s.WantProblem(t, http.StatusConflict, "reservation_expired", s.ConfirmCall(t, e2e.Alice, expired.ID))
}

// However many orders are broken, those behind them are released, and the error names some.
func TestJobs_BrokenOrdersDoNotFillTheBatches(t *testing.T) {
	t.Parallel()
	const broken = 500
	s := e2e.Start(t, "ORDERS_UNPAID_ORDERS=0")
	s.PutProduct(t, "tea", broken)
	s.PutProduct(t, "coffee", 10)
	insertBrokenOrders(t, s.Env, "tea", broken) // the first to be released
	intact := s.MustCreateOrder(t, e2e.Alice, "coffee", 1)
	s.ExpireReservation(t, intact.ID)
	log := &testlog.Buffer{}
	replica := s.StartReplicaWithLog(t, func(config.Config) zerolog.Logger { return zerolog.New(log) })
	replica.Run(t)
	e2e.Eventually(t, "the intact order is released", func() bool {
		return s.Count(t, "SELECT count(*) FROM product WHERE sku = 'coffee' AND reserved = 0") == 1
	})
	e2e.Eventually(t, "the failure is logged", func() bool {
		return strings.Contains(log.String(), "release the reservation of order") && strings.Contains(log.String(), "and 495 orders more")
	})
	if n := s.Count(t, "SELECT count(*) FROM orders WHERE reserved_until <= now()"); n != broken {
		t.Errorf("%d reservations are left, want the %d broken ones", n, broken)
	}
}

// insertBrokenOrders inserts n orders of one unit each whose reservations have expired.
// Their product has nothing reserved, so that none can be released.
func insertBrokenOrders(t testing.TB, env *e2e.Env, sku string, n int) {
	t.Helper()
	env.Exec(t, `
		WITH made AS (
			INSERT INTO orders (customer_id, seller_id, status, total, currency, reserved_until, version,
			                    created_by, idempotency_key, created_at, updated_at)
			SELECT $1, $2, 'pending_payment', 100, 'RUB', now() - interval '1 minute' + n * interval '1 millisecond', 1,
			       $1, 'prepared-' || n, now(), now()
			FROM generate_series(1, $4::int) n RETURNING id
		)
		INSERT INTO order_item (order_id, line, sku, quantity, unit_price) SELECT id, 1, $3, 1, 100 FROM made`,
		e2e.Alice, e2e.Shop, sku, n)
}
