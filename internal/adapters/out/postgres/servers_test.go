package postgres_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	pgtest "example.com/orders/internal/test/pg"
	testwait "example.com/orders/internal/test/wait"
)

// write commits a product of its own.
func write(t *testing.T, db *postgres.DB, sku string) (attempts int, err error) {
	t.Helper()
	return inTx(t, db, func(ctx context.Context, tx order.Tx) error { return tx.Products.Save(ctx, product(sku)) })
}

// Only the first connection tries the server that does not answer.
func TestConnect_BeginsWithTheServerThatAcceptedWritesLast(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	silent, readOnly, primary := pgtest.NewEndpoint(t), pgtest.NewEndpoint(t), pgtest.NewEndpoint(t)
	silent.Silence()
	readOnly.Refuse()
	primary.LeadTo(t, d.url)
	db := open(t, pgtest.Through(t, d.url, silent, readOnly, primary))
	for _, sku := range []string{"tea", "milk", "rice"} {
		if attempts, err := write(t, db, sku); attempts != 1 || err != nil {
			t.Fatalf("%s: %d attempts: %v", sku, attempts, err)
		}
		db.Pool().Reset()
	}
	if tried, refused, used := silent.Accepted(), readOnly.Accepted(), primary.Accepted(); tried != 1 || refused != 1 || used != 3 {
		t.Errorf("%d connections to the silent server, %d to the next, %d to the primary; want 1, 1 and 3", tried, refused, used)
	}
}

// While attempts to connect fail, the next one begins after connectPause at the earliest. Of
// one pool, there are never more than maxConnecting at the same time.
const (
	connectPause  = 100 * time.Millisecond
	maxConnecting = 4
)

// The bound follows the time that the requests took, so that a slow machine does no harm.
func TestConnect_IsTriedRarelyWhileTheDatabaseIsDown(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	endpoint := pgtest.NewEndpoint(t)
	db := open(t, pgtest.Through(t, d.url, endpoint))
	began := time.Now()
	var clients sync.WaitGroup
	for range 20 {
		clients.Go(func() {
			for range 100 {
				if _, err := write(t, db, "tea"); !errors.Is(err, core.ErrUnavailable) {
					t.Errorf("a write without a database: %v", err)
				}
			}
		})
	}
	clients.Wait()
	most := maxConnecting + 1 + int(time.Since(began)/connectPause)
	if n := endpoint.Accepted(); n > most {
		t.Errorf("%d attempts to connect for 2000 writes, want %d at most", n, most)
	}

	endpoint.LeadTo(t, d.url)
	testwait.Until(t, "the store writes", func() bool { _, err := write(t, db, "tea"); return err == nil })
}

func TestConnect_OpensFewConnectionsAtATime(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	endpoint := pgtest.NewEndpoint(t)
	endpoint.Silence()
	db := open(t, pgtest.Through(t, d.url, endpoint)+"&pool_max_conns=20")
	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for range 20 {
		clients.Go(func() { _ = db.Pool().Ping(ctx) }) // fails
	}
	testwait.Until(t, "all want a connection", func() bool {
		return db.Pool().Stat().ConstructingConns() == 20 && endpoint.Open() > 0
	})
	if n := endpoint.Open(); n > maxConnecting {
		t.Errorf("%d connections are opened at the same time", n)
	}
	cancel()
	clients.Wait()

	endpoint.LeadTo(t, d.url)
	testwait.Until(t, "the store writes", func() bool { _, err := write(t, db, "tea"); return err == nil })
}

// A partition breaks no connection. When one does not answer, all are left.
func TestConnect_LeavesIdleConnectionsThatDoNotAnswer(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	first, second := pgtest.NewEndpoint(t), pgtest.NewEndpoint(t)
	first.LeadTo(t, d.url)
	second.LeadTo(t, d.url)
	db := open(t, pgtest.Through(t, d.url, first, second))
	connectAll(t, db, 8)
	released := time.Now()
	testwait.Until(t, "the pool asks whether they are alive", func() bool { return time.Since(released) > time.Second })

	first.Freeze()
	if attempts, err := write(t, db, "tea"); attempts != 1 || err != nil {
		t.Errorf("%d attempts: %v", attempts, err)
	}
	if n := db.Pool().Stat().TotalConns(); n > 2 {
		t.Errorf("%d connections are left, want the new one, and the one that was asked until it is closed", n)
	}
	first.Refuse() // the pool tries to cancel what it asked, and Close would wait for that
}

// A session keeps the setting with which it began: the address of a balancer leads elsewhere,
// and does not break the connections of before.
func TestReadOnlyConnection_IsReplacedByOneThatAcceptsWrites(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	set := func(statement string) {
		d.execute(t, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I `+statement+`', current_database()); END $$`)
	}
	set("SET default_transaction_read_only = on")
	if _, err := write(t, open(t, d.url), "tea"); !errors.Is(err, core.ErrUnavailable) {
		t.Errorf("a write to a read-only database: %v", err)
	}
	writes, asks := open(t, d.url), open(t, d.url)
	for _, db := range []*postgres.DB{writes, asks} {
		if err := db.Pool().Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
	}

	set("RESET default_transaction_read_only")

	if attempts, err := write(t, writes, "tea"); attempts != 2 || err != nil {
		t.Errorf("%d attempts: %v; want the second to succeed", attempts, err)
	}
	if state, err := asks.State(t.Context()); err != nil || state.ReadOnly {
		t.Errorf("%+v, %v; want a database that accepts writes", state, err)
	}
	d.expectCount(t, products, 1)
}

// A primary that was cut off says that it accepts writes, and no standby confirms them.
func TestCommit_ThatDoesNotEndMakesThePoolAskTheOtherServers(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	cutOff, promoted := pgtest.NewEndpoint(t), pgtest.NewEndpoint(t)
	cutOff.LeadTo(t, d.url)
	promoted.LeadTo(t, d.url)
	db := open(t, pgtest.Through(t, d.url, cutOff, promoted))
	d.execute(t, `CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(60); RETURN NULL; END'`)
	d.execute(t, `CREATE CONSTRAINT TRIGGER wait AFTER INSERT ON product DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait()`)

	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if err := db.Orders().InTx(ctx, saveTea); !errors.Is(err, core.ErrOutcomeUnknown) {
		t.Fatalf("a COMMIT that does not end: %v", err)
	}
	d.execute(t, `DROP TRIGGER wait ON product`)

	if _, err := write(t, db, "milk"); err != nil || promoted.Accepted() == 0 {
		t.Errorf("the next write: %v, %d connections to the other server", err, promoted.Accepted())
	}
	before := cutOff.Accepted()
	db.Pool().Reset()
	if _, err := write(t, db, "rice"); err != nil || cutOff.Accepted() > before {
		t.Errorf("a later write: %v, %d connections to the server that was left", err, cutOff.Accepted()-before)
	}
}

// incarnation returns the name of a database after a process has started on it.
func incarnation(t *testing.T, url string) string {
	t.Helper()
	db := open(t, pgtest.AsService(t, url))
	defer db.Close()
	if err := db.RenewIncarnation(t.Context()); err != nil {
		t.Fatal(err)
	}
	var id string
	if err := db.Pool().QueryRow(t.Context(), "SELECT id::text FROM incarnation").Scan(&id); err != nil {
		t.Fatal(err)
	}
	return id
}

// All processes find the copy without a name.
func TestIncarnation_OfACopyIsRenewedOnce(t *testing.T) {
	t.Parallel()
	original := pgtest.New(t)
	first := incarnation(t, original)
	restored := pgtest.Copy(t, original)
	names := make(chan string, 4)
	for range cap(names) {
		go func() { names <- incarnation(t, restored) }()
	}
	id := <-names
	for range cap(names) - 1 {
		if other := <-names; other != id {
			t.Errorf("the copy was named %s and %s", id, other)
		}
	}
	if id == first {
		t.Error("the copy kept the name of the original")
	}
	if again := incarnation(t, original); again != first {
		t.Error("the original was renamed")
	}
}

func TestIncarnation_IsRenewedByAPromotion(t *testing.T) {
	t.Parallel()
	server := pgtest.NewCluster(t, nil)
	url := pgtest.NewOn(t, server)
	first := incarnation(t, url)
	standby := filepath.Join(server.DataDir(), "standby.signal")
	if err := os.WriteFile(standby, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if id := incarnation(t, url); id != first {
		t.Error("a standby, which cannot write, has another name than its primary")
	}
	if _, err := open(t, url).Pool().Exec(t.Context(), "SELECT pg_promote()"); err != nil {
		t.Fatal(err)
	}
	if id := incarnation(t, url); id == first {
		t.Error("the promoted database kept the name of its primary")
	}
}

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
	err = errors.Join(err, s.Pool().QueryRow(t.Context(), "SELECT count(*) FROM audit_log").Scan(&entries))
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
