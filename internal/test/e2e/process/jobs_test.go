package process_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"example.com/orders/internal/adapters/in/jobs"
	"example.com/orders/internal/config"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/test/e2e"
	"example.com/orders/migrations"
)

// runJobs works on the jobs of a replica, more often than the service does, until stop
// is called or the test ends.
func runJobs(t testing.TB, s *e2e.Service) (stop func()) {
	t.Helper()
	db := s.OpenStore(t)
	runner, err := jobs.New(jobs.Config{
		Pool: db.Pool(), Schema: migrations.RiverSchema, Log: zerolog.New(zerolog.NewTestWriter(t)),
		ReleaseExpiredReservations: jobs.BatchJob{Run: jobs.InOrder(e2e.OrderService(db).ReleaseExpiredReservations), Every: 20 * time.Millisecond},
		CleanIdempotencyRecords:    jobs.BatchJob{Run: db.Keys().DeleteExpired, Every: 20 * time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := runner.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		ctx, cancel := context.WithTimeout(context.Background(), e2e.Patience)
		defer cancel()
		if _, err := runner.Stop(ctx); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return stop
}

// insertRecords inserts expired idempotency records, expired-1 the oldest, and live
// ones.
func insertRecords(t testing.TB, env *e2e.Env, expired, live int) {
	t.Helper()
	const insert = `INSERT INTO idempotency_record
		(scope, key, fingerprint, operation, status, content_type, location, body, created_at, expires_at)
		SELECT 'issuer ` + e2e.Mallory + `', $1 || n, '\x01', 'createOrder', 409, 'application/problem+json', '', '{}',
		       now() - interval '3 days', now() + $2 * interval '1 hour' + n * interval '1 millisecond'
		FROM generate_series(1, $3) n`
	env.Exec(t, insert, "expired-", -1, expired)
	env.Exec(t, insert, "live-", 1, live)
}

func countExpiredRecords(t testing.TB, env *e2e.Env) int {
	t.Helper()
	return env.Count(t, "SELECT count(*) FROM idempotency_record WHERE key LIKE 'expired-%'")
}

// wantLiveRecords checks that clean-up removed no live record.
func wantLiveRecords(t testing.TB, env *e2e.Env, n int) {
	t.Helper()
	if got := env.Count(t, "SELECT count(*) FROM idempotency_record WHERE key LIKE 'live-%'"); got != n {
		t.Errorf("%d live records, want %d", got, n)
	}
}

// insertExpiredOrders inserts n orders of one unit each whose reservations have
// expired, as createOrder would have left them.
func insertExpiredOrders(t testing.TB, env *e2e.Env, sku string, n int) {
	t.Helper()
	env.Exec(t, `
		WITH made AS (
			INSERT INTO orders (customer_id, seller_id, status, total, currency, reserved_until, version,
			                    created_by, idempotency_key, created_at, updated_at)
			SELECT $1, $2, 'pending_payment', 100, 'RUB', now() - interval '1 minute' + n * interval '1 millisecond', 1,
			       $1, 'prepared-' || n, now(), now()
			FROM generate_series(1, $4::int) n RETURNING id
		), lines AS (
			INSERT INTO order_item (order_id, line, sku, quantity, unit_price) SELECT id, 1, $3, 1, 100 FROM made
		), events AS (
			INSERT INTO outbox (type, aggregate, data, created_at)
			SELECT 'order.created', 'order/' || id, jsonb_build_object('order_id', id, 'version', 1), now() FROM made
		)
		UPDATE product SET reserved = reserved + $4::int WHERE sku = $3`, e2e.Alice, e2e.Shop, sku, n)
}

func countExpiredReservations(t testing.TB, env *e2e.Env) int {
	t.Helper()
	return env.Count(t, "SELECT count(*) FROM orders WHERE reserved_until <= now()")
}

// awaitNothingExpired waits until the jobs have done everything.
func awaitNothingExpired(t testing.TB, env *e2e.Env) {
	t.Helper()
	e2e.Eventually(t, "nothing expired is left", func() bool {
		return countExpiredReservations(t, env) == 0 && countExpiredRecords(t, env) == 0
	})
}

// The jobs run at the start of the service, and change only what has expired.
func TestJobs_ReleaseReservationsAndRemoveRecords(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 10})
	expired, live := s.MustCreateOrder(t, e2e.Alice, "tea", 3), s.MustCreateOrder(t, e2e.Alice, "tea", 2)
	s.ExpireReservation(t, expired.ID)
	insertRecords(t, s.Env, 7, 5)

	stop := s.Run(t)
	awaitNothingExpired(t, s.Env)
	stop()

	s.WantStock(t, "tea", 10, 2)
	if o := s.ReadOrder(t, expired.ID); o.Status != "pending_payment" || o.Reservation != nil || o.Version != expired.Version+1 {
		t.Errorf("after its reservation was released, the order is %+v", o)
	}
	if o := s.ReadOrder(t, live.ID); o.Reservation == nil || o.Version != live.Version {
		t.Errorf("the order with a live reservation is %+v", o)
	}
	wantLiveRecords(t, s.Env, 5)
	s.Credit(t, e2e.Alice, "300.00")
	s.WantProblem(t, http.StatusConflict, "reservation_expired", s.ConfirmCall(t, e2e.Alice, expired.ID))
}

func TestReservation_IsReleasedWhenItExpires(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 10}, "ORDERS_RESERVATION_TTL=1s")
	runJobs(t, s)
	o := s.MustCreateOrder(t, e2e.Alice, "tea", 3)
	if o.Reservation == nil {
		t.Fatalf("the new order is %+v", o)
	}
	e2e.Eventually(t, "the reservation is released", func() bool { return s.ReadProduct(t, "tea").Reserved == 0 })
	if now := s.Count(t, "SELECT extract(epoch FROM clock_timestamp())::bigint"); int64(now) < o.Reservation.ExpiresAt.Unix() {
		t.Errorf("it was released before it expired, %s", o.Reservation.ExpiresAt)
	}
}

func TestCleanUp_RemovesOldestRecordsInBatches(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	insertRecords(t, s.Env, 25, 5)
	keys := s.OpenStore(t).Keys()
	for i, batch := range []struct{ removed, left int }{{10, 15}, {10, 5}, {5, 0}, {0, 0}} {
		removed, err := keys.DeleteExpired(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		if removed != batch.removed {
			t.Errorf("batch %d removed %d records, want %d", i, removed, batch.removed)
		}
		if n := countExpiredRecords(t, s.Env); n != batch.left {
			t.Errorf("after batch %d there are %d expired records, want %d", i, n, batch.left)
		}
		newest := s.Count(t, "SELECT count(*) FROM idempotency_record WHERE key = 'expired-25'") == 1
		if newest != (batch.left > 0) {
			t.Errorf("after batch %d the newest record is there: %t", i, newest)
		}
	}
	wantLiveRecords(t, s.Env, 5)
}

func TestCleanUp_SkipsLockedRecords(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	insertRecords(t, s.Env, 25, 0)
	keys := s.OpenStore(t).Keys()
	inUse := s.LockRows(t, "SELECT FROM idempotency_record WHERE key IN ('expired-1', 'expired-2', 'expired-13') FOR UPDATE")
	ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience) // or it would wait for ever
	defer cancel()
	for i, want := range []int{10, 10, 2, 0} {
		if removed, err := keys.DeleteExpired(ctx, 10); err != nil || removed != want {
			t.Fatalf("batch %d removed %d, %v; want %d", i, removed, err, want)
		}
	}
	inUse.Release()
	removed := 0
	e2e.Eventually(t, "the records that were locked are removed", func() bool {
		n, err := keys.DeleteExpired(ctx, 10)
		if err != nil {
			t.Fatal(err)
		}
		removed += n
		return countExpiredRecords(t, s.Env) == 0
	})
	if removed != 3 {
		t.Errorf("%d records were removed after they were unlocked, want 3", removed)
	}
}

// A request whose record is removed meanwhile is answered by the second line of
// defence.
func TestCleanUp_DoesNotDisturbRequests(t *testing.T) {
	t.Parallel()
	const rounds = 30
	a, b := e2e.StartTwoReplicas(t, nil)
	stop := runJobs(t, a)
	for i := range rounds {
		call := a.CreditCall(t, e2e.Alice, "1.00")
		first := a.Send(t, call)
		a.Exec(t, "UPDATE idempotency_record SET expires_at = now() WHERE key = $1", call.Key)
		late := e2e.SendTogether(t, b.Request(call))[0] // b has not seen the key
		if first.Status != http.StatusCreated || !late.SameAs(first) {
			t.Errorf("round %d: %d %s\nlate: %d %s", i, first.Status, first.Body, late.Status, late.Body)
		}
		if got := late.Header.Get("Idempotency-Result"); got != "reused" {
			t.Errorf("round %d: Idempotency-Result is %q, want reused", i, got)
		}
	}
	e2e.Eventually(t, "expired records are removed", func() bool {
		return a.Count(t, "SELECT count(*) FROM idempotency_record WHERE expires_at <= now()") == 0
	})
	stop()
	a.WantBalance(t, e2e.Alice, fmt.Sprintf("%d.00", rounds))
}

func TestJobs_ReleaseEachReservationOnceInTwoProcesses(t *testing.T) {
	t.Parallel()
	const orders = 300
	a, b := e2e.StartTwoReplicas(t, e2e.Stock{"tea": orders + 10})
	insertExpiredOrders(t, a.Env, "tea", orders)
	insertRecords(t, a.Env, orders, 5)
	a.MustCreateOrder(t, e2e.Mallory, "tea", 10)
	stopB := runJobs(t, b)
	stopA := runJobs(t, a)
	stopReleasing := a.KeepReleasing(t) // beside the jobs
	awaitNothingExpired(t, a.Env)
	stopReleasing()
	stopA()
	stopB()
	a.WantStock(t, "tea", orders+10, 10)
	if n := a.Count(t, "SELECT count(*) FROM orders WHERE customer_id = $1 AND version <> 2", e2e.Alice); n != 0 {
		t.Errorf("%d orders were changed more than once, or not at all", n)
	}
	wantLiveRecords(t, a.Env, 5)
}

func TestJobs_BrokenOrderDoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	s.PutProduct(t, "tea", 10)
	s.PutProduct(t, "coffee", 10)
	broken, intact := s.MustCreateOrder(t, e2e.Alice, "tea", 1), s.MustCreateOrder(t, e2e.Alice, "coffee", 1)
	s.ExpireReservation(t, broken.ID)
	s.ExpireReservation(t, intact.ID)
	s.Exec(t, "UPDATE orders SET reserved_until = reserved_until - interval '1 minute' WHERE id = $1", broken.ID) // the first to be released
	s.Exec(t, "UPDATE product SET reserved = 0 WHERE sku = 'tea'")
	_, n, err := e2e.OrderService(s.OpenStore(t)).ReleaseExpiredReservations(t.Context(), order.Expiry{}, 10)
	if n != 2 || err == nil || !strings.Contains(err.Error(), fmt.Sprintf("order %d", broken.ID)) {
		t.Errorf("released %d, %v; want an error that names order %d", n, err, broken.ID)
	}
	s.WantStock(t, "coffee", 10, 0)
	if o := s.ReadOrder(t, broken.ID); o.Reservation == nil || o.Version != broken.Version {
		t.Errorf("the broken order is %+v, want it unchanged", o)
	}
}

// However many orders are broken, those behind them are released, and the error names some.
func TestJobs_BrokenOrdersDoNotFillTheBatches(t *testing.T) {
	t.Parallel()
	const broken = 500
	s := e2e.Start(t, "ORDERS_UNPAID_ORDERS=0")
	s.PutProduct(t, "tea", broken)
	s.PutProduct(t, "coffee", 10)
	insertExpiredOrders(t, s.Env, "tea", broken) // the first to be released
	s.Exec(t, "UPDATE product SET reserved = 0 WHERE sku = 'tea'")
	intact := s.MustCreateOrder(t, e2e.Alice, "coffee", 1)
	s.ExpireReservation(t, intact.ID)
	log := &e2e.Buffer{}
	replica := s.StartReplicaWithLog(t, func(config.Config) zerolog.Logger { return zerolog.New(log) })
	replica.Run(t)
	e2e.Eventually(t, "the intact order is released", func() bool {
		return s.Count(t, "SELECT count(*) FROM product WHERE sku = 'coffee' AND reserved = 0") == 1
	})
	e2e.Eventually(t, "the failure is logged", func() bool {
		return strings.Contains(log.String(), "release the reservation of order") && strings.Contains(log.String(), "and 495 orders more")
	})
	if n := countExpiredReservations(t, s.Env); n != broken {
		t.Errorf("%d reservations are left, want the %d broken ones", n, broken)
	}
}

// SIGKILL in the middle of clean-up, and twice while reservations are released: what
// was begun is done once, and the next process does the rest.
func TestJobs_SurviveKills(t *testing.T) {
	t.Parallel()
	const orders, expiredRecords, live = 3000, 20_000, 50
	s := e2e.Start(t, "ORDERS_UNPAID_ORDERS=0")
	s.StockUp(t, e2e.Stock{"tea": orders + live})
	insertExpiredOrders(t, s.Env, "tea", orders)
	s.MustCreateOrder(t, e2e.Alice, "tea", live)
	insertRecords(t, s.Env, expiredRecords, live)
	slowDownCleanUp(t, s.Env)
	binary := e2e.BuildOrders(t)
	for _, job := range []struct {
		name  string
		count func(testing.TB, *e2e.Env) int
	}{
		{"clean-up", countExpiredRecords},
		{"release of reservations", countExpiredReservations},
		{"release of reservations, a second time", countExpiredReservations},
	} {
		before := job.count(t, s.Env)
		p := s.StartProcess(t, binary)
		e2e.Eventually(t, job.name+" has begun", func() bool { return job.count(t, s.Env) < before })
		p.Kill()
		left := job.count(t, s.Env)
		t.Logf("killed in %s, with %d of %d left", job.name, left, before)
		if left == 0 {
			t.Fatalf("%s was done before the process was killed", job.name)
		}
		e2e.CheckInvariants(t, s.DB, e2e.Stock{"tea": orders + live})
		s.Exec(t, "DELETE FROM river.river_leader")                                         // instead of waiting 15 s for the end of its term
		s.Exec(t, "UPDATE river.river_job SET state = 'available' WHERE state = 'running'") // and 30 s for the rescue
	}
	s.StartProcess(t, binary)
	awaitNothingExpired(t, s.Env)
	s.WantStock(t, "tea", orders+live, live)
	if n := s.Count(t, "SELECT count(*) FROM orders WHERE idempotency_key LIKE 'prepared-%' AND version <> 2"); n != 0 {
		t.Errorf("%d reservations were released more than once, or not at all", n)
	}
	wantLiveRecords(t, s.Env, live)
}

// slowDownCleanUp lets every batch of clean-up pause, so that it can be killed.
func slowDownCleanUp(t testing.TB, env *e2e.Env) {
	t.Helper()
	env.Exec(t, `CREATE FUNCTION pause() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.02); RETURN NULL; END $$`)
	env.Exec(t, `CREATE TRIGGER pause BEFORE DELETE ON idempotency_record FOR EACH STATEMENT EXECUTE FUNCTION pause()`)
}
