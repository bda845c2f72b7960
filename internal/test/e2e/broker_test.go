package e2e_test

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
	natstest "example.com/orders/internal/test/nats"
)

// sent is an event as it stands in the outbox or in the stream.
type sent struct {
	ID        int64
	Aggregate string
}

// arrivedOnce compares the stream with the outbox: every event has left once, and those
// of each aggregate in their order.
func (w *world) arrivedOnce(broker *devbroker.Broker) {
	w.Helper()
	rows, _ := w.db.Query(w.Context(), `SELECT id, aggregate FROM outbox`)
	written, err := pgx.CollectRows(rows, pgx.RowToStructByPos[sent])
	if err != nil {
		w.Fatal(err)
	}
	missing := map[int64]bool{}
	for _, e := range written {
		missing[e.ID] = true
	}
	last := map[string]int64{}
	for _, body := range natstest.Messages(w, broker, outnats.Stream) {
		var e sent
		if err := json.Unmarshal(body, &e); err != nil {
			w.Fatal(err)
		}
		if !missing[e.ID] {
			w.Errorf("event %d is there twice, or nobody wrote it", e.ID)
		}
		if e.ID < last[e.Aggregate] {
			w.Errorf("%s: event %d came after %d", e.Aggregate, e.ID, last[e.Aggregate])
		}
		delete(missing, e.ID)
		last[e.Aggregate] = e.ID
	}
	if len(missing) > 0 {
		w.Errorf("%d of %d events have not arrived", len(missing), len(written))
	}
}

// unpublished counts what waits in the outbox.
func (w *world) unpublished() int {
	w.Helper()
	return w.count(`SELECT count(*) FROM outbox WHERE published_at IS NULL`)
}

// creditSteadily lets four clients credit forty customers, up to four hundred times a second
// together, until stop.
func (l *load) creditSteadily() (stop func()) {
	const clients, customers = 4, 10 // each
	var ended atomic.Bool
	var running sync.WaitGroup
	for i := range clients {
		running.Go(func() {
			pace := time.NewTicker(10 * time.Millisecond)
			defer pace.Stop()
			for n := 0; !ended.Load(); n++ {
				customer := fmt.Sprintf("customer-%d-%d", i, n%customers)
				r, err := l.send(l.creditCall(customer, "1.00", l.newKey()))
				if err != nil || r.status != http.StatusCreated {
					l.Errorf("a credit while the broker is down: %d %s, %v", r.status, r.body, err)
					return
				}
				<-pace.C
			}
		})
	}
	return func() {
		ended.Store(true)
		running.Wait()
	}
}

// One process takes the traffic and another one relays, so that its memory shows what
// waiting events take, and not what is remembered of requests.
func TestABrokerThatIsDownForAMinuteLosesNothing(t *testing.T) {
	t.Parallel()
	const (
		down = time.Minute
		// The least that shall wait, and the memory it may take: as messages it would be ten
		// times that.
		waiting = 5000
		growth  = 2 << 20
	)
	w, broker, binary := newWorld(t), natstest.New(t), buildOrders(t)
	admin := freeAddr(t)
	w.startProcess(binary, "ORDERS_ADMIN_ADDR="+admin, "ORDERS_NATS_URL="+broker.URL())
	l := newLoad(w)
	l.aimAt(w.startProcess(binary))
	stop := l.creditSteadily()
	eventually(t, "events leave", func() bool {
		return w.count(`SELECT count(*) FROM outbox WHERE published_at IS NOT NULL`) > 100
	})
	broker.Halt()
	back := time.After(down)
	eventually(t, "more waits than is read at once", func() bool { return w.unpublished() > 500 })
	before := w.figure(admin, liveHeap)
	<-back
	eventually(t, "enough waits", func() bool { return w.unpublished() >= waiting })
	after, wait := w.figure(admin, liveHeap), w.unpublished()
	if after-before > growth {
		t.Errorf("%d events wait, and memory grew from %d to %d bytes, want at most %d more", wait, before, after, growth)
	}
	if err := broker.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "events leave again", func() bool { return w.unpublished() < wait/2 })
	stop()
	eventually(t, "all events have left", func() bool { return w.unpublished() == 0 })
	w.arrivedOnce(broker)
	t.Logf("%d events waited, memory %d and then %d bytes", wait, before, after)
}

func TestAPublisherKilledBeforeItsMarkSendsNothingTwice(t *testing.T) {
	t.Parallel()
	const events = 20
	w, broker, binary := newWorld(t), natstest.New(t), buildOrders(t)
	quiet := w.replica() // its events wait for the others
	for range events {
		quiet.credit(alice, "1.00")
	}
	marks := w.hold(query{`SELECT FROM outbox FOR UPDATE`, nil})
	first := w.startProcess(binary, "ORDERS_NATS_URL="+broker.URL())
	marks.awaitWaiter()
	if n := len(natstest.Messages(t, broker, outnats.Stream)); n != events {
		t.Errorf("%d events have left, want %d", n, events)
	}
	first.kill()
	marks.killWaiters() // PostgreSQL would end the statement of a client that is gone
	marks.release()
	if n := w.unpublished(); n != events {
		t.Fatalf("%d events are unmarked, want %d", n, events)
	}
	w.exec(`UPDATE relay_lease SET until = '-infinity'`) // or the next one waits for its end
	quiet.credit(alice, "1.00")
	w.startProcess(binary, "ORDERS_NATS_URL="+broker.URL())
	eventually(t, "all events have left", func() bool { return w.unpublished() == 0 })
	w.arrivedOnce(broker)
}
