package process_test

import (
	"net"
	"net/http"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/rs/zerolog"

	"example.com/orders/internal/config"
	"example.com/orders/internal/test/e2e"
	testlog "example.com/orders/internal/test/log"
	pgtest "example.com/orders/internal/test/pg"
)

// sendBlocked sends n credits of a customer whose balance is locked, and returns when
// all of them wait in the database.
func sendBlocked(t *testing.T, l *e2e.Load, customer string, n int) <-chan e2e.Reply {
	t.Helper()
	replies := make(chan e2e.Reply, n)
	for range n {
		call := l.CreditCall(t, customer, "1.00")
		go func() {
			r, err := l.Send(t, call)
			if err != nil {
				t.Errorf("an accepted request got no response: %v", err)
			}
			replies <- r
		}()
	}
	l.AwaitBlocked(t, n)
	return replies
}

// Load balancers notice after a while that a replica is not ready, and send requests until
// then. They are answered.
func TestService_ServesUntilItsDrainDelayEnds(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	p := env.StartProcess(t, e2e.BuildOrders(t), "ORDERS_DRAIN_DELAY=1m") // longer than the test
	s, l := env.ServiceOf(p), e2e.NewLoad(env)
	l.SendTo(p)
	stop := l.Start(t, 4)
	l.AwaitAnswers(t, 20)

	p.Terminate(t)

	e2e.Eventually(t, "the service is not ready", func() bool {
		return s.Send(t, e2e.Get("", "/health/ready")).Status == http.StatusServiceUnavailable
	})
	l.AwaitAnswers(t, 10)
	stop()
	if l.Broken.Load()+l.Unsent.Load() > 0 {
		t.Errorf("%d requests got no response, %d were not accepted", l.Broken.Load(), l.Unsent.Load())
	}
}

func TestService_AnswersAcceptedRequestsWhenStopped(t *testing.T) {
	t.Parallel()
	const blocked = 2 // of four connections
	env := e2e.NewEnv(t)
	p := env.StartProcess(t, e2e.BuildOrders(t), "ORDERS_DRAIN_DELAY=0s")
	env.ServiceOf(p).Credit(t, e2e.Alice, "1.00")
	l := e2e.NewLoad(env)
	l.SendTo(p)
	balance := lockBalance(t, env, e2e.Alice)
	replies := sendBlocked(t, l, e2e.Alice, blocked)

	ended := p.Terminate(t)

	awaitNotListening(t, p)
	select {
	case err := <-ended:
		t.Fatalf("the process ended before its requests: %v", err)
	default:
	}
	balance.Release()
	for range blocked {
		if r := <-replies; r.Status != http.StatusCreated {
			t.Errorf("an accepted request was answered %d: %s", r.Status, r.Body)
		}
	}
	p.WantEnd(t, ended, e2e.Patience)
	if line := lineAbout(t, p, "drained"); line["requests"].(float64) < blocked || line["requests_cut_off"] != 0.0 {
		t.Errorf("the line is %v, want %d requests and none cut off", line, blocked)
	}
	if n := env.Count(t, `SELECT count(*) FROM ledger_entry WHERE customer_id = $1`, e2e.Alice); n != 1+blocked {
		t.Errorf("%d ledger entries, want %d", n, 1+blocked)
	}
}

// awaitNotListening waits until a process accepts no connections any more.
func awaitNotListening(t *testing.T, p *e2e.Process) {
	t.Helper()
	e2e.Eventually(t, "no connection is accepted", func() bool {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(p.URL, "http://"))
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
}

// A terminal that closes also lets requests end.
func TestService_StopsAlthoughRequestIsBlocked(t *testing.T) {
	t.Parallel()
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("the tests run under nohup, and so would the process")
	}
	env := e2e.NewEnv(t)
	p := env.StartProcess(t, e2e.BuildOrders(t))
	env.ServiceOf(p).Credit(t, e2e.Alice, "1.00")
	l := e2e.NewLoad(env)
	l.SendTo(p)
	lockBalance(t, env, e2e.Alice)
	replies := sendBlocked(t, l, e2e.Alice, 1)
	p.Signal(t, syscall.SIGHUP)
	if r := <-replies; r.Status != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" {
		t.Errorf("the blocked request was answered %d %v: %s", r.Status, r.Header, r.Body)
	}
	p.WantEnd(t, p.Ended(), e2e.Patience)
}

// lockBalance locks a customer's balance once it exists, so that credits wait.
func lockBalance(t testing.TB, env *e2e.Env, customer string) e2e.RowLock {
	t.Helper()
	e2e.Eventually(t, customer+" has a balance", func() bool {
		return env.Count(t, "SELECT count(*) FROM balance WHERE customer_id = $1", customer) == 1
	})
	return env.LockRows(t, `SELECT FROM balance WHERE customer_id = $1 FOR UPDATE`, customer)
}

// The process is killed, and then the database, which survives it.
func TestService_LosesAndDuplicatesNothingWhenKilled(t *testing.T) {
	t.Parallel()
	binary, env, server := e2e.BuildOrders(t), e2e.NewEnv(t), pgtest.NewCluster(t, nil)
	env.DatabaseURL = pgtest.NewOn(t, server)
	env.Connect(t)
	p := env.StartProcess(t, binary)
	l := e2e.NewLoad(env)
	l.SendTo(p)
	stop := l.Start(t, 8)
	l.AwaitAnswers(t, 40)
	balance := lockBalance(t, env, "customer-0")
	e2e.Eventually(t, "a request is under way", func() bool { return balance.Waiters(t) > 0 })
	p.Kill()
	balance.Release()
	e2e.Eventually(t, "the kill broke requests under way", func() bool { return l.Broken.Load() > 0 })
	p = env.StartProcess(t, binary)
	l.SendTo(p)
	l.AwaitAnswers(t, 40)

	broken, refused := l.Broken.Load(), l.Refused.Load()
	server.Kill()
	e2e.Eventually(t, "the service refused requests", func() bool { return l.Refused.Load() > refused })
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.AwaitAnswers(t, 20)
	stop()

	if n := l.Broken.Load() - broken; n > 0 {
		t.Errorf("%d requests got no response from the service while the database was down", n)
	}
	env.Connect(t)
	l.Check(t, env.ServiceOf(p))
}

// wantWaiting checks that a process lives without its database, and says why it is not
// ready to operators only.
func wantWaiting(t *testing.T, p *e2e.Process, admin, cause string) {
	t.Helper()
	e2e.Eventually(t, "the process lives", func() bool { return p.IsOK("/health/live") })
	if status, body := e2e.Fetch(t, p.URL+"/health/ready"); status != http.StatusServiceUnavailable || strings.Contains(body, cause) {
		t.Errorf("readiness: status %d: %s", status, body)
	}
	status, body := e2e.Fetch(t, "http://"+admin+"/health/ready")
	if status != http.StatusServiceUnavailable || !strings.Contains(body, "waiting for the database") || !strings.Contains(body, cause) {
		t.Errorf("readiness for operators: status %d, want 503 with %q: %s", status, cause, body)
	}
	if line := lineAbout(t, p, "waiting for the database"); !strings.Contains(line["error"].(string), cause) {
		t.Errorf("the line is %v, want the cause %q", line, cause)
	}
}

func TestServe_WaitsForTheDatabase(t *testing.T) {
	t.Parallel()
	env, admin, endpoint := e2e.NewEnv(t), e2e.FreeAddr(t), pgtest.NewEndpoint(t)
	address := pgtest.Through(t, env.ServiceURL(t), endpoint)
	endpoint.Refuse()
	p := env.StartWaiting(t, e2e.BuildOrders(t), "ORDERS_ADMIN_ADDR="+admin, "ORDERS_DATABASE_URL="+address)
	s := env.ServiceOf(p)
	wantWaiting(t, p, admin, "failed to connect")
	credit := s.CreditCall(t, e2e.Alice, "1.00")
	s.WantProblem(t, http.StatusServiceUnavailable, "unavailable", credit)

	endpoint.LeadTo(t, env.ServiceURL(t))

	p.AwaitReady(t)
	e2e.Want[e2e.Transaction](t, s, http.StatusCreated, credit)
	lineAbout(t, p, "database reached")
	e2e.Eventually(t, "the jobs run", func() bool { return env.Count(t, "SELECT count(*) FROM river.river_leader") == 1 })
}

// A process that waits stops like any other.
func TestServe_StopsWhileItWaitsForTheDatabase(t *testing.T) {
	t.Parallel()
	env, admin := e2e.NewEnv(t), e2e.FreeAddr(t)
	p := env.StartWaiting(t, e2e.BuildOrders(t), "ORDERS_ADMIN_ADDR="+admin,
		"ORDERS_DATABASE_URL=postgres://orders:hunter2@127.0.0.1:1/orders")
	wantWaiting(t, p, admin, "failed to connect")

	p.WantEnd(t, p.Terminate(t), e2e.Patience)

	if strings.Contains(p.Log(), "hunter2") {
		t.Errorf("the password is in the log: %s", p.Log())
	}
}

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
