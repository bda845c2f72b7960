package process_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	outnats "example.com/orders/internal/adapters/out/nats"
	devbroker "example.com/orders/internal/dev/broker"
	"example.com/orders/internal/test/e2e"
	natstest "example.com/orders/internal/test/nats"
)

// event is what the tests read of an event in the stream.
type event struct{ ID, Subject string }

// wantPublishedOnce compares the stream with the outbox: every event is published once,
// and those of each aggregate in their order.
func wantPublishedOnce(t testing.TB, env *e2e.Env, broker *devbroker.Broker) {
	t.Helper()
	rows, _ := env.DB.Query(t.Context(), `SELECT event_id::text FROM outbox ORDER BY id`)
	written, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]int{} // when each was written, from 1
	for i, id := range written {
		missing[id] = i + 1
	}
	last := map[string]int{} // by aggregate
	for _, body := range natstest.Messages(t, broker, outnats.Stream) {
		var e event
		if err := json.Unmarshal(body, &e); err != nil {
			t.Fatal(err)
		}
		at := missing[e.ID]
		if at == 0 {
			t.Errorf("event %s was published twice, or is not in the outbox", e.ID)
		}
		if at < last[e.Subject] {
			t.Errorf("%s: event %d was published after event %d", e.Subject, at, last[e.Subject])
		}
		delete(missing, e.ID)
		last[e.Subject] = at
	}
	if len(missing) > 0 {
		t.Errorf("%d of %d events were not published", len(missing), len(written))
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
