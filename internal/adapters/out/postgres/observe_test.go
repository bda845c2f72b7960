package postgres_test

import (
	"context"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/idempotency"
)

// transactions records what an observer of transactions is called with.
type transactions struct {
	mu       sync.Mutex
	runs     []int
	restarts []string
	records  int
	standby  []string
}

func (o *transactions) TransactionEnded(runs int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.runs = append(o.runs, runs)
}

func (o *transactions) TransactionRestarted(reason string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.restarts = append(o.restarts, reason)
}

func (o *transactions) RecordsStored(records int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.records += records
}

func (o *transactions) StandbyAsked(outcome string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.standby = append(o.standby, outcome)
}

// observed opens a database whose transactions are observed.
func observed(t *testing.T, url string, lanes int) (*postgres.DB, *transactions) {
	t.Helper()
	saw := &transactions{}
	db, err := postgres.Open(t.Context(), postgres.Config{URL: url, Lanes: lanes, ObserveTransactions: saw})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db, saw
}

func TestTransactions_ReportWhyTheyRestart(t *testing.T) {
	t.Parallel()
	for state, reason := range map[string]string{
		"40001": "serialization_failure", "40P01": "deadlock", "23505": "unique_violation",
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			d.refuseProducts(t, 2, state)
			db, saw := observed(t, d.url, 0)
			if _, err := inTx(t, db, saveTea); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{reason, reason}, saw.restarts); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]int{3}, saw.runs); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTransactions_ReportDeadConnections(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	p, url := d.through(t)
	db, saw := observed(t, url+"&pool_max_conns=8", 0)
	connectAll(t, db, 4)
	p.breakAll()
	if _, err := inTx(t, db, saveTea); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"dead_connection"}, saw.restarts); diff != "" {
		t.Error(diff)
	}
}

func TestTransactions_ReportTheRecordsThatTheyStore(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	for _, lanes := range []int{0, 1} {
		db, saw := observed(t, d.url, lanes)
		id := idempotency.ID{Scope: "issuer", Key: "key-" + string(rune('0'+lanes))}
		for range 2 { // the second is a replay
			_, _, err := db.Keys().Execute(t.Context(), idempotency.Claim{ID: id, Operation: "putProduct", Fingerprint: "1"},
				func(context.Context) (idempotency.Result, error) { return idempotency.Result{TTL: 1e12}, nil })
			if err != nil {
				t.Fatal(err)
			}
		}
		if saw.records != 1 {
			t.Errorf("%d lanes: %d records were stored, want 1", lanes, saw.records)
		}
	}
}

func TestTransactions_ReportTheRecordsOfAGroup(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	g := grouped(t, d.url, 1)
	release := g.gather(t)
	defer release()
	first, second := g.queue(t, t.Context(), credit("ann", "1.00")), g.queue(t, t.Context(), credit("bob", "1.00"))
	release()
	expect(t, collect(t, []<-chan answer{first, second}), done, done)
	g.transactions.mu.Lock()
	defer g.transactions.mu.Unlock()
	if n := g.transactions.records; n != 2 {
		t.Errorf("%d records were stored, want 2", n)
	}
	if diff := cmp.Diff([]int{1}, g.transactions.runs); diff != "" {
		t.Error(diff)
	}
}
