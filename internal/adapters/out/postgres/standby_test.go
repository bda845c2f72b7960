package postgres_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	pgtest "example.com/orders/internal/test/pg"
	testwait "example.com/orders/internal/test/wait"
)

// staleStore is a store whose standby serves reads.
type staleStore struct {
	*postgres.DB
	endpoint *pgtest.Endpoint // leads to the standby
	saw      *observer
}

func openStale(t *testing.T, primaryURL, standbyURL string, staleness time.Duration) *staleStore {
	t.Helper()
	s := &staleStore{endpoint: pgtest.NewEndpoint(t), saw: &observer{}}
	s.endpoint.LeadTo(t, standbyURL)
	s.DB = openWith(t, postgres.Config{
		URL:        pgtest.AsService(t, primaryURL),
		StandbyURL: pgtest.Through(t, pgtest.AsService(t, standbyURL), s.endpoint), StandbyStaleness: staleness,
		Observe: s.saw,
	})
	return s
}

// finds reports whether a product is in the list, and the outcome of the read.
func (s *staleStore) finds(t *testing.T, sku string) (found bool, outcome string) {
	t.Helper()
	err := s.Orders().ReadStale(t.Context(), func(ctx context.Context, tx order.Tx) error {
		list, err := tx.Products.List(ctx, core.Page{Limit: 100})
		found = slices.ContainsFunc(list, func(p *order.Product) bool { return p.SKU == sku })
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	s.saw.mu.Lock()
	defer s.saw.mu.Unlock()
	return found, s.saw.standby[len(s.saw.standby)-1]
}

// awaitOutcome reads until a read has an outcome, and reports whether it found a product.
func (s *staleStore) awaitOutcome(t *testing.T, want, sku string) (found bool) {
	t.Helper()
	testwait.Until(t, "a read that is "+want, func() bool {
		var outcome string
		found, outcome = s.finds(t, sku)
		return outcome == want
	})
	return found
}

func (s *staleStore) mustWrite(t *testing.T, sku string) {
	t.Helper()
	if _, err := write(t, s.DB, sku); err != nil {
		t.Fatal(err)
	}
}

func executeAt(t *testing.T, url, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }() // the statement has committed
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// The steps share the servers, which take long to start.
func TestReadStale(t *testing.T) {
	t.Parallel()
	servers := pgtest.NewReplicated(t)
	for _, step := range []struct {
		name string
		run  func(*testing.T, *pgtest.Replicated)
	}{
		{"is served by a standby within the bound", staleWithinTheBound},
		{"is served by the primary after the bound", freshAfterTheBound},
		{"is served by the primary when the standby fails", standbyFails},
		{"writes to the primary", staleReadWrites},
		{"is refused by a standby of another timeline", standbyDiverges}, // promotes the standby
	} {
		t.Run(step.name, func(t *testing.T) { step.run(t, servers) })
	}
}

// All of it takes place within the bound, which is the longest one.
func staleWithinTheBound(t *testing.T, servers *pgtest.Replicated) {
	t.Helper()
	s := openStale(t, servers.PrimaryURL(), servers.StandbyURL(), time.Minute)
	s.awaitOutcome(t, "served", "")
	executeAt(t, servers.StandbyURL(), "SELECT pg_wal_replay_pause()")
	defer executeAt(t, servers.StandbyURL(), "SELECT pg_wal_replay_resume()")
	s.mustWrite(t, "milk")
	if found, outcome := s.finds(t, "milk"); found || outcome != "served" {
		t.Errorf("found: %v, %s; want an old list, served by the standby", found, outcome)
	}
}

func freshAfterTheBound(t *testing.T, servers *pgtest.Replicated) {
	t.Helper()
	const bound = 200 * time.Millisecond
	s := openStale(t, servers.PrimaryURL(), servers.StandbyURL(), bound)
	s.awaitOutcome(t, "served", "")
	executeAt(t, servers.StandbyURL(), "SELECT pg_wal_replay_pause()")
	defer executeAt(t, servers.StandbyURL(), "SELECT pg_wal_replay_resume()") // also when the test ends here
	s.mustWrite(t, "tea")
	for committed := time.Now(); time.Since(committed) < 5*bound; {
		began := time.Now()
		if found, outcome := s.finds(t, "tea"); began.Sub(committed) > bound && (!found || outcome == "served") {
			t.Fatalf("%s after the commit: found %v, %s; want it from the primary", began.Sub(committed), found, outcome)
		}
	}
	s.awaitOutcome(t, "behind", "tea")
	executeAt(t, servers.StandbyURL(), "SELECT pg_wal_replay_resume()")
	if !s.awaitOutcome(t, "served", "tea") {
		t.Error("the standby serves a list without the product after it has replayed")
	}
}

func standbyFails(t *testing.T, servers *pgtest.Replicated) {
	t.Helper()
	for name, fail := range map[string]func(*staleStore){
		"starting": func(s *staleStore) { s.endpoint.Refuse() },
		"silent":   func(s *staleStore) { s.endpoint.Silence() },
		"primary":  func(s *staleStore) { s.endpoint.LeadTo(t, servers.PrimaryURL()) },
	} {
		t.Run(name, func(t *testing.T) {
			s := openStale(t, servers.PrimaryURL(), servers.StandbyURL(), time.Minute)
			s.mustWrite(t, name)
			s.awaitOutcome(t, "served", "")
			fail(s)
			defer s.endpoint.Refuse() // an attempt to connect would be waited for
			for range 5 {
				if found, outcome := s.finds(t, name); !found || outcome != "failed" {
					t.Errorf("found: %v, %s; want it from the primary", found, outcome)
				}
			}
		})
	}
}

// A read may write to the audit log.
func staleReadWrites(t *testing.T, servers *pgtest.Replicated) {
	t.Helper()
	s := openStale(t, servers.PrimaryURL(), servers.StandbyURL(), time.Minute)
	s.awaitOutcome(t, "served", "")
	err := s.Orders().ReadStale(t.Context(), func(ctx context.Context, tx order.Tx) error {
		return tx.AuditLog.Add(ctx, core.AuditEntry{Actor: "root", Action: "ListOrders", Resource: "orders"})
	})
	var entries int
	if err == nil {
		err = s.Pool().QueryRow(t.Context(), "SELECT count(*) FROM audit_log").Scan(&entries)
	}
	if entries != 1 || err != nil {
		t.Errorf("%d audit entries, %v", entries, err)
	}
}

// One standby is promoted without the last commits. Another one has them, and does not follow
// it: its log is longer than that of the new primary.
func standbyDiverges(t *testing.T, servers *pgtest.Replicated) {
	t.Helper()
	otherURL := servers.AddStandby(t)
	s := openStale(t, servers.PrimaryURL(), otherURL, time.Minute)
	servers.StopStandby()
	s.mustWrite(t, "early")
	executeAt(t, servers.PrimaryURL(), "SELECT pg_switch_wal()") // the rest of the segment is skipped
	s.mustWrite(t, "lost")
	testwait.Until(t, "the other standby has the product", func() bool {
		found, outcome := s.finds(t, "lost")
		return found && outcome == "served"
	})
	servers.Promote(t)
	after := openStale(t, servers.StandbyURL(), otherURL, time.Minute)
	testwait.Until(t, "the new primary has been measured", func() bool {
		_, outcome := after.finds(t, "")
		return outcome != "unmeasured"
	})
	if found, outcome := after.finds(t, "lost"); found || outcome != "behind" {
		t.Errorf("found: %v, %s; want that the standby is refused", found, outcome)
	}
}
