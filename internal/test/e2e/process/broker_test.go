package process_test

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	outnats "example.com/orders/internal/adapters/out/nats"
	devbroker "example.com/orders/internal/dev/broker"
	"example.com/orders/internal/test/e2e"
	natstest "example.com/orders/internal/test/nats"
)

// wantPublishedOnce compares the stream with the outbox.
func wantPublishedOnce(t testing.TB, env *e2e.Env, broker *devbroker.Broker) {
	t.Helper()
	mistakes, err := e2e.CompareStream(t.Context(), env.DB, natstest.Messages(t, broker, outnats.Stream))
	if err != nil {
		t.Fatal(err)
	}
	for _, mistake := range mistakes {
		t.Error(mistake)
	}
}

// countUnpublished counts the events that wait in the outbox.
func countUnpublished(t testing.TB, env *e2e.Env) int {
	t.Helper()
	return env.Count(t, `SELECT count(*) FROM outbox WHERE published_at IS NULL`)
}

// creditSteadily lets four clients credit forty customers, together at most four
// hundred times a second, until stop is called.
func creditSteadily(t testing.TB, l *e2e.Load) (stop func()) {
	t.Helper()
	const clients, customersPerClient = 4, 10
	var stopped atomic.Bool
	var running sync.WaitGroup
	for client := range clients {
		running.Go(func() {
			pace := time.NewTicker(10 * time.Millisecond)
			defer pace.Stop()
			for n := 0; !stopped.Load(); n++ {
				customer := fmt.Sprintf("customer-%d-%d", client, n%customersPerClient)
				r, err := l.Send(t, l.CreditCall(t, customer, "1.00"))
				if err != nil || r.Status != http.StatusCreated {
					t.Errorf("a credit while the broker is down: %d %s, %v", r.Status, r.Body, err)
					return
				}
				<-pace.C
			}
		})
	}
	return func() {
		stopped.Store(true)
		running.Wait()
	}
}

// One process serves the traffic and another one relays, so that the memory of the
// latter shows what waiting events need, and not what is cached of requests.
func TestOutbox_LosesNothingWhileBrokerIsDown(t *testing.T) {
	t.Parallel()
	const (
		outage = time.Minute
		// minWaiting is how many events wait at least, maxGrowth the memory that they
		// may need. As messages in memory they would need ten times that.
		minWaiting = 5000
		maxGrowth  = 2 << 20
	)
	env, broker, binary := e2e.NewEnv(t), natstest.New(t), e2e.BuildOrders(t)
	admin := e2e.FreeAddr(t)
	env.StartProcess(t, binary, "ORDERS_ADMIN_ADDR="+admin, "ORDERS_NATS_URL="+broker.URL())
	l := e2e.NewLoad(env)
	l.SendTo(env.StartProcess(t, binary))
	stop := creditSteadily(t, l)
	e2e.Eventually(t, "events are published", func() bool {
		return env.Count(t, `SELECT count(*) FROM outbox WHERE published_at IS NOT NULL`) > 100
	})

	broker.Halt()
	outageOver := time.After(outage)
	e2e.Eventually(t, "more events wait than are read at once", func() bool { return countUnpublished(t, env) > 500 })
	before := e2e.LiveHeap.Read(t, admin)
	<-outageOver
	e2e.Eventually(t, "enough events wait", func() bool { return countUnpublished(t, env) >= minWaiting })
	after, waiting := e2e.LiveHeap.Read(t, admin), countUnpublished(t, env)
	if after-before > maxGrowth {
		t.Errorf("%d events wait, and memory grew from %d to %d bytes, want at most %d more", waiting, before, after, maxGrowth)
	}
	if err := broker.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}

	e2e.Eventually(t, "waiting events are published", func() bool { return countUnpublished(t, env) < waiting/2 })
	stop()
	e2e.Eventually(t, "all events are published", func() bool { return countUnpublished(t, env) == 0 })
	wantPublishedOnce(t, env, broker)
	t.Logf("%d events waited, memory %d and then %d bytes", waiting, before, after)
}

func TestOutbox_PublishesOnceWhenRelayIsKilledBeforeItsMark(t *testing.T) {
	t.Parallel()
	const events = 20
	env, broker, binary := e2e.NewEnv(t), natstest.New(t), e2e.BuildOrders(t)
	withoutBroker := env.StartReplica(t)
	for range events {
		withoutBroker.Credit(t, e2e.Alice, "1.00")
	}
	marks := env.LockRows(t, `SELECT FROM outbox FOR UPDATE`)
	killed := env.StartProcess(t, binary, "ORDERS_NATS_URL="+broker.URL())
	marks.AwaitWaiter(t)
	if n := len(natstest.Messages(t, broker, outnats.Stream)); n != events {
		t.Errorf("%d events are published, want %d", n, events)
	}
	killed.Kill()
	marks.KillWaiters(t) // PostgreSQL would finish the statement of a client that is gone
	marks.Release()
	if n := countUnpublished(t, env); n != events {
		t.Fatalf("%d events are not marked, want %d", n, events)
	}

	env.Exec(t, `UPDATE relay_lease SET until = '-infinity'`) // instead of waiting for its end
	withoutBroker.Credit(t, e2e.Alice, "1.00")
	env.StartProcess(t, binary, "ORDERS_NATS_URL="+broker.URL())

	e2e.Eventually(t, "all events are published", func() bool { return countUnpublished(t, env) == 0 })
	wantPublishedOnce(t, env, broker)
}
