package process_test

import (
	"net/http"
	"testing"

	devpostgres "example.com/orders/internal/dev/postgres"
	"example.com/orders/internal/test/e2e"
	pgtest "example.com/orders/internal/test/pg"
)

// useDurableDatabase moves the environment to a database that survives a crash.
func useDurableDatabase(t *testing.T, env *e2e.Env) *devpostgres.Server {
	t.Helper()
	server := pgtest.NewCluster(t, nil)
	env.DatabaseURL = pgtest.NewOn(t, server)
	env.Connect(t)
	return server
}

// lockBalance locks a customer's balance, so that credits wait.
func lockBalance(t testing.TB, env *e2e.Env, customer string) e2e.RowLock {
	t.Helper()
	return env.LockRows(t, `SELECT FROM balance WHERE customer_id = $1 FOR UPDATE`, customer)
}

func TestService_LosesAndDuplicatesNothingWhenKilled(t *testing.T) {
	t.Parallel()
	binary, env := e2e.BuildOrders(t), e2e.NewEnv(t)
	useDurableDatabase(t, env)
	p := env.StartProcess(t, binary)
	l := e2e.NewLoad(env)
	l.SendTo(p)
	stop := l.Start(t, 8)
	for range 3 {
		l.AwaitAnswers(t, 40)
		balance := lockBalance(t, env, "customer-0")
		balance.AwaitWaiter(t) // at least one request is under way
		before := l.Broken.Load()
		p.Kill()
		balance.Release()
		e2e.Eventually(t, "the kill broke requests under way", func() bool { return l.Broken.Load() > before })
		p = env.StartProcess(t, binary)
		l.SendTo(p)
	}
	l.AwaitAnswers(t, 20)
	stop()
	l.Check(t, env.ServiceOf(p))
}

func TestService_LosesAndDuplicatesNothingWhenDatabaseIsKilled(t *testing.T) {
	t.Parallel()
	binary, env := e2e.BuildOrders(t), e2e.NewEnv(t)
	server := useDurableDatabase(t, env)
	p := env.StartProcess(t, binary)
	l := e2e.NewLoad(env)
	l.SendTo(p)
	stop := l.Start(t, 8)
	for range 3 {
		l.AwaitAnswers(t, 40)
		before := l.Refused.Load()
		server.Kill()
		e2e.Eventually(t, "the service refused requests", func() bool { return l.Refused.Load() > before })
		if err := server.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	l.AwaitAnswers(t, 20)
	stop()
	if l.Broken.Load() > 0 {
		t.Errorf("%d requests got no response from the service", l.Broken.Load())
	}
	env.Connect(t)
	l.Check(t, env.ServiceOf(p))
}

// Thirty equal requests to two processes.
func TestService_RunsRequestOnceInTwoProcesses(t *testing.T) {
	t.Parallel()
	const clients = 30
	binary, env := e2e.BuildOrders(t), e2e.NewEnv(t)
	services := []*e2e.Service{env.ServiceOf(env.StartProcess(t, binary)), env.ServiceOf(env.StartProcess(t, binary))}
	services[0].Credit(t, e2e.Alice, "1.00")
	credit := env.CreditCall(t, e2e.Alice, "5.00")
	var requests []e2e.Request
	for i := range clients {
		requests = append(requests, services[i%2].Request(credit))
	}
	replies := e2e.SendTogether(t, requests...)
	created := 0
	for _, r := range replies {
		if r.Status != http.StatusCreated || !r.SameAs(replies[0]) {
			t.Errorf("%d %s, want 201 and the same as %s", r.Status, r.Body, replies[0].Body)
		}
		if r.Header.Get("Idempotency-Result") == "created" {
			created++
		}
	}
	if created != 1 {
		t.Errorf("%d responses say created, want 1", created)
	}
	for _, s := range services {
		s.WantBalance(t, e2e.Alice, "6.00")
	}
}

// PostgreSQL would write the last commits ten seconds later.
func TestService_LosesNothingWhereTheDatabaseDoesNotWaitForTheDisk(t *testing.T) {
	t.Parallel()
	binary, env := e2e.BuildOrders(t), e2e.NewEnv(t)
	server := pgtest.NewCluster(t, map[string]string{"wal_writer_delay": "10s"})
	env.DatabaseURL = pgtest.NewOn(t, server)
	env.Connect(t)
	env.Exec(t, "ALTER ROLE ALL SET synchronous_commit = off")
	s := env.ServiceOf(env.StartProcess(t, binary))

	s.Credit(t, e2e.Alice, "5.00")
	server.Kill()
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}

	env.Connect(t)
	if n := env.Count(t, "SELECT count(*) FROM ledger_entry"); n != 1 {
		t.Errorf("%d ledger entries after the crash, want the one that was acknowledged", n)
	}
}
