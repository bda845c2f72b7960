package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"example.com/orders/internal/adapters/in/jobs"
	"example.com/orders/migrations"
)

// runJobs works on the jobs of a replica, more often than the service does, until the
// test ends or the function that it gives is called.
func (s *service) runJobs() (stop func()) {
	s.Helper()
	db := s.store()
	runner, err := jobs.New(jobs.Config{
		Pool: db.Pool(), Schema: migrations.RiverSchema, Log: zerolog.New(zerolog.NewTestWriter(s)),
		ReleaseExpiredReservations: jobs.BatchJob{Run: s.holds().ReleaseExpiredReservations, Every: 20 * time.Millisecond},
		CleanIdempotencyRecords:    jobs.BatchJob{Run: db.Keys().DeleteExpired, Every: 20 * time.Millisecond},
	})
	if err != nil {
		s.Fatal(err)
	}
	return s.startJobs(runner)
}

func (s *service) startJobs(runner *jobs.Runner) (stop func()) {
	s.Helper()
	if err := runner.Start(s.Context()); err != nil {
		s.Fatal(err)
	}
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := runner.Stop(ctx); err != nil {
			s.Error(err)
		}
	}
	s.Cleanup(stop)
	return stop
}

// expiredRecords puts n records that are over into the database, the first one the
// oldest, and records that are not beside them.
func (w *world) expiredRecords(n, live int) {
	w.Helper()
	const put = `INSERT INTO idempotency_record
		(scope, key, fingerprint, operation, status, content_type, location, body, created_at, expires_at)
		SELECT 'issuer ` + mallory + `', $1 || n, '\x01', 'createOrder', 409, 'application/problem+json', '', '{}',
		       now() - interval '3 days', now() + $2 * interval '1 hour' + n * interval '1 millisecond'
		FROM generate_series(1, $3) n`
	w.exec(put, "over-", -1, n)
	w.exec(put, "live-", 1, live)
}

func (w *world) records(prefix string) int {
	w.Helper()
	return w.count("SELECT count(*) FROM idempotency_record WHERE key LIKE $1 || '-%'", prefix)
}

// expiredReservations puts n orders of one unit each into the database, all with holds that are
// over, as CreateOrder would have left them.
func (w *world) expiredReservations(sku string, n int) {
	w.Helper()
	w.exec(`
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
		UPDATE product SET reserved = reserved + $4::int WHERE sku = $3`, alice, shop, sku, n)
}

func (w *world) lapsed() int {
	w.Helper()
	return w.count("SELECT count(*) FROM orders WHERE reserved_until <= now()")
}

// The jobs as the service itself runs them: both at the start, on what is due and on
// nothing else.
func TestServiceFreesLapsedHoldsAndRemovesExpiredKeys(t *testing.T) {
	t.Parallel()
	s := newShop(t, shelf{"tea": 10})
	lapsed, held := s.order(alice, "tea", 3), s.order(alice, "tea", 2)
	s.expireReservation(lapsed.ID)
	s.expiredRecords(7, 5)
	stop := s.run()
	eventually(t, "what was due is done", func() bool { return s.lapsed() == 0 && s.records("over") == 0 })
	stop()
	s.stockIs("tea", 10, 2)
	if o := s.readOrder(lapsed.ID); o.Status != "pending_payment" || o.Reservation != nil || o.Version != lapsed.Version+1 {
		t.Errorf("after its hold lapsed, the order is %+v", o)
	}
	if o := s.readOrder(held.ID); o.Reservation == nil || o.Version != held.Version {
		t.Errorf("the order with a live hold is %+v", o)
	}
	if n := s.records("live"); n != 5 {
		t.Errorf("%d live records are left of 5", n)
	}
	s.credit(alice, "300.00")
	s.wantProblem(http.StatusConflict, "reservation_expired", s.confirmCall(alice, lapsed.ID, s.newKey()))
}

func TestReservationIsReleasedWhenItExpires(t *testing.T) {
	t.Parallel()
	s := newShop(t, shelf{"tea": 10}, "ORDERS_RESERVATION_TTL=1s")
	s.runJobs()
	o := s.order(alice, "tea", 3)
	if o.Reservation == nil {
		t.Fatalf("the new order is %+v", o)
	}
	eventually(t, "the hold is gone", func() bool { return s.product("tea").Reserved == 0 })
	if now := s.count("SELECT extract(epoch FROM clock_timestamp())::bigint"); int64(now) < o.Reservation.ExpiresAt.Unix() {
		t.Errorf("it went before its time, %s", o.Reservation.ExpiresAt)
	}
}

func TestCleanUpTakesTheOldestOfWhatExpiredBatchByBatch(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.expiredRecords(25, 5)
	for i, left := range []int{15, 5, 0, 0} {
		removed, err := s.store().Keys().DeleteExpired(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		if wanted := min(10, 25-10*i); removed != max(wanted, 0) {
			t.Errorf("batch %d removed %d", i, removed)
		}
		if n := s.records("over"); n != left {
			t.Errorf("after batch %d there are %d, want %d", i, n, left)
		}
		if n := s.count("SELECT count(*) FROM idempotency_record WHERE key = 'over-25'"); (n == 1) != (left > 0) {
			t.Errorf("after batch %d the newest is there %d times: the oldest go first", i, n)
		}
	}
	if n := s.records("live"); n != 5 {
		t.Errorf("%d live records are left of 5", n)
	}
}

func TestCleanUpPassesOverRecordsInUse(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.expiredRecords(25, 0)
	tx, err := s.db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context()) //nolint:errcheck // unless the test has come to it
	if _, err := tx.Exec(t.Context(), "SELECT FROM idempotency_record WHERE key IN ('over-1', 'over-2', 'over-13') FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience) // or it would wait for ever
	defer cancel()
	for i, wanted := range []int{10, 10, 2, 0} {
		if removed, err := s.store().Keys().DeleteExpired(ctx, 10); err != nil || removed != wanted {
			t.Fatalf("batch %d removed %d, %v; want %d", i, removed, err, wanted)
		}
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if removed, err := s.store().Keys().DeleteExpired(t.Context(), 10); err != nil || removed != 3 {
		t.Errorf("when they are free, %d were removed, %v; want 3", removed, err)
	}
}

// Requests whose records are being removed under them are answered as if nothing were:
// by the second line, once the record is gone.
func TestCleanUpDoesNotDisturbRequests(t *testing.T) {
	t.Parallel()
	a, b := twoReplicas(t, nil)
	stop := a.runJobs()
	for i := range raceRounds {
		c := a.creditCall(alice, "1.00", a.newKey())
		first := a.send(c)
		a.exec("UPDATE idempotency_record SET expires_at = now() WHERE key = $1", c.key)
		again := together(t, shot{b, c})[0] // which has not seen the key before
		if first.status != http.StatusCreated || again.status != first.status || string(again.body) != string(first.body) {
			t.Errorf("round %d: %d %s\nagain: %d %s", i, first.status, first.body, again.status, again.body)
		}
		if got := again.header.Get("Idempotency-Result"); got != "reused" {
			t.Errorf("round %d: Idempotency-Result is %q", i, got)
		}
	}
	eventually(t, "expired records are gone", func() bool {
		return a.count("SELECT count(*) FROM idempotency_record WHERE expires_at <= now()") == 0
	})
	stop()
	a.balanceIs(alice, fmt.Sprintf("%d.00", raceRounds))
}

func TestTwoRunnersFreeEachHoldOnce(t *testing.T) {
	t.Parallel()
	const orders = 300
	a, b := twoReplicas(t, shelf{"tea": orders + 10})
	a.expiredReservations("tea", orders)
	a.expiredRecords(orders, 5)
	a.order(mallory, "tea", 10)
	stopB := b.runJobs()
	stopA := a.runJobs()
	stopReleasing := a.keepReleasing(b) // and two more beside River
	eventually(t, "all is done", func() bool { return a.lapsed() == 0 && a.records("over") == 0 })
	stopReleasing()
	stopA()
	stopB()
	a.stockIs("tea", orders+10, 10)
	if n := a.count("SELECT count(*) FROM orders WHERE customer_id = $1 AND version <> 2", alice); n != 0 {
		t.Errorf("%d orders were changed more than once, or not at all", n)
	}
	if n := a.records("live"); n != 5 {
		t.Errorf("%d live records are left of 5", n)
	}
}

// An order that cannot be freed is told, and does not keep the others waiting.
func TestOneBrokenOrderDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.putProduct("tea", 10)
	s.putProduct("coffee", 10)
	broken, sound := s.order(alice, "tea", 1), s.order(alice, "coffee", 1)
	s.expireReservation(broken.ID)
	s.expireReservation(sound.ID)
	s.exec("UPDATE orders SET reserved_until = reserved_until - interval '1 minute' WHERE id = $1", broken.ID) // it comes first
	s.exec("UPDATE product SET reserved = 0 WHERE sku = 'tea'")
	n, err := s.holds().ReleaseExpiredReservations(t.Context(), 10)
	if n != 2 || err == nil || !strings.Contains(err.Error(), fmt.Sprintf("order %d", broken.ID)) {
		t.Errorf("released %d, %v; want an error that names order %d", n, err, broken.ID)
	}
	s.stockIs("coffee", 10, 0)
	if o := s.readOrder(broken.ID); o.Reservation == nil || o.Version != broken.Version {
		t.Errorf("the broken order is %+v, want it untouched", o)
	}
}

// SIGKILL in the middle of clean-up, and again in the middle of expiry: what was begun is
// done once, what was not is done by the next process.
func TestKillWhileExpiryAndCleanUpRun(t *testing.T) {
	t.Parallel()
	const orders, records, live = 3000, 20_000, 50
	w := newWorld(t)
	s := w.replica()
	s.stockUp(shelf{"tea": orders + live})
	s.expiredReservations("tea", orders)
	s.order(alice, "tea", live)
	s.expiredRecords(records, live)
	// A pause in every batch of clean-up, for it would be over before we could look.
	s.exec(`CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.02); RETURN NULL; END $$`)
	s.exec(`CREATE TRIGGER dawdle BEFORE DELETE ON idempotency_record FOR EACH STATEMENT EXECUTE FUNCTION dawdle()`)

	binary := buildOrders(t)
	for _, victim := range []struct {
		name string
		left func() int
		of   int
	}{
		{"clean-up", func() int { return s.records("over") }, records},
		{"expiry", s.lapsed, orders},
		{"expiry, again", s.lapsed, orders},
	} {
		before := victim.left()
		p := w.startProcess(binary)
		eventually(t, victim.name+" is at work", func() bool { return victim.left() < before })
		p.kill()
		left := victim.left()
		t.Logf("killed in %s, with %d of %d left", victim.name, left, victim.of)
		if left == 0 {
			t.Fatalf("%s was over before the process was killed", victim.name)
		}
		checkLedger(t, s.db, shelf{"tea": orders + live})
		// The leader is dead and its term runs for another 15 s. Nobody waits that long here.
		s.exec("DELETE FROM river.river_leader")
	}
	w.startProcess(binary)
	eventually(t, "nothing is left", func() bool { return s.lapsed() == 0 && s.records("over") == 0 })
	s.stockIs("tea", orders+live, live)
	if n := s.count("SELECT count(*) FROM orders WHERE idempotency_key LIKE 'prepared-%' AND version <> 2"); n != 0 {
		t.Errorf("%d holds were released more than once, or not at all", n)
	}
	if n := s.records("live"); n != live {
		t.Errorf("%d live records are left of %d", n, live)
	}
}
