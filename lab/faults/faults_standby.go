package faults

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/test/e2e"
)

// promoteStandbyThatWasGone stops the standby until commands have timed out, and
// promotes it. Everything that primary readers saw meanwhile must still be there. So
// must everything in the stream, which a check compares at the end: an event that the
// standby lacks becomes visible because its wait is cancelled.
func promoteStandbyThatWasGone(t testing.TB, s *System, _ *rand.Rand) {
	t.Helper()
	s.Servers.StopStandby()
	s.Counters.Add("standbys stopped", 1)
	s.writeEventThatTheStandbyLacks(t)
	var orders sync.WaitGroup
	for range 4 {
		c := s.newProbe()
		orders.Go(func() { c.finish(c.createOrder()) })
	}
	seen := map[int64]bool{}
	read := func() {
		for _, r := range s.Replicas {
			s.readOrders(t, r, seen)
		}
	}
	s.Counters.untilMore(t, unknownOutcomes, 1, read)
	s.Counters.untilMore(t, "attempts", 2*mostClients, read) // new data becomes visible now
	s.promote(t)
	orders.Wait()
	for id := range seen {
		if s.Count(t, "SELECT count(*) FROM orders WHERE id = $1", id) != 1 {
			t.Errorf("a reader of the primary saw order %d, and the failover took it back", id)
		}
	}
}

// readOrders adds the seller's newest orders to seen.
func (s *System) readOrders(t testing.TB, r *Replica, seen map[int64]bool) {
	t.Helper()
	var page struct{ Data []struct{ ID int64 } }
	if err := json.Unmarshal(s.wantRead(t, r, readsAlone).Body, &page); err != nil {
		t.Error(err)
	}
	for _, o := range page.Data {
		seen[o.ID] = true
	}
}

// writeEventThatTheStandbyLacks writes an event and cancels its COMMIT's wait.
func (s *System) writeEventThatTheStandbyLacks(t testing.TB) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.Servers.PrimaryURL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	written := make(chan error, 1)
	go func() {
		_, err := conn.Exec(t.Context(), `INSERT INTO outbox (event_id, type, aggregate, data, created_at)
			VALUES (gen_random_uuid(), 'order.created', 'order/0', '{}', now())`)
		written <- err
	}()
	e2e.Eventually(t, "the event is visible", func() bool {
		s.Exec(t, "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'SyncRep'", conn.PgConn().PID())
		return len(written) == 1
	})
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	s.Counters.Add("events that the standby lacked", 1)
}
