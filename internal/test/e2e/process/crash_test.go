package process_test

import (
	"testing"

	"example.com/orders/internal/test/e2e"
	pgtest "example.com/orders/internal/test/pg"
)

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
