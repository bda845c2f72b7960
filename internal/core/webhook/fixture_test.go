package webhook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/webhook"
	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// fixture is a database with endpoints and events.
type fixture struct {
	*postgres.DB
	url   string
	plain *pgxpool.Pool
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	url := pgtest.New(t)
	plain, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plain.Close)
	return &fixture{openDB(t, url), url, plain}
}

func openDB(t testing.TB, url string) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), postgres.Config{URL: pgtest.AsService(t, url), MaxConns: 4}, postgres.Groups{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

func (f *fixture) execute(t testing.TB, statement string, args ...any) {
	t.Helper()
	if _, err := f.plain.Exec(context.WithoutCancel(t.Context()), statement, args...); err != nil { // couriers end after the test
		t.Fatalf("%s: %v", statement, err)
	}
}

// read returns the texts that a query of one column finds.
func (f *fixture) read(t testing.TB, query string, args ...any) []string {
	t.Helper()
	rows, _ := f.plain.Query(t.Context(), query, args...) // CollectRows returns the error
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return found
}

// addEndpoints adds endpoints for all events. Those with a name that begins with
// "ordered" are.
func (f *fixture) addEndpoints(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		f.execute(t, `INSERT INTO webhook_endpoint (owner, seller_id, url, event_types, description, ordered, secret, created_at, updated_at)
			VALUES ('root', 'shop', $1, '{order.*}', '', $1 LIKE 'ordered%', 'whsec_1', now() - interval '1 hour', now())`, name)
	}
}

// addEvents adds events about each of several orders, in one transaction for each event.
// Their endpoint_id counts the events of an order.
func (f *fixture) addEvents(t testing.TB, orders, events int) {
	t.Helper()
	var writers sync.WaitGroup
	for i := range orders {
		writers.Go(func() {
			for n := range events {
				err := f.Webhooks().InTx(t.Context(), func(ctx context.Context, tx webhook.Tx) error {
					return tx.Outbox.Add(ctx, core.Event{
						Type: "order.changed", Aggregate: fmt.Sprint("order/", i),
						Data: webhook.EventData{EndpointID: int64(n), SellerID: "shop"},
					})
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
}

// letRetry makes deliveries due that wait for their next attempt, or for the end of a lost one.
func (f *fixture) letRetry(t testing.TB) {
	t.Helper()
	f.execute(t, `UPDATE webhook_delivery SET next_attempt_at = now() WHERE id IN (
		SELECT id FROM webhook_delivery WHERE status = 'pending' AND next_attempt_at > now() FOR UPDATE SKIP LOCKED)`)
}

// start runs a courier on connections of its own, as a process does, until the test ends.
func (f *fixture) start(t testing.TB, sender webhook.Sender, change ...func(*webhook.Courier)) {
	t.Helper()
	db := openDB(t, f.url)
	courier := &webhook.Courier{
		Queue: db.Deliveries(), Sender: sender, Record: (&webhook.Service{Store: db.Webhooks()}).RecordAttempts,
		Failed: func(err error) { t.Log(err) },
	}
	for _, c := range change {
		c(courier)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { courier.Run(ctx) })
	t.Cleanup(func() { stop(); running.Wait() })
}

// receivers are what is behind the URLs of endpoints: each answers an attempt, and the
// others accept it.
type receivers struct {
	answers map[string]func(context.Context, webhook.Attempt) webhook.Outcome

	mu       sync.Mutex
	begun    map[string][]webhook.Attempt
	accepted map[string][]string // bodies
}

func newReceivers(answers map[string]func(context.Context, webhook.Attempt) webhook.Outcome) *receivers {
	return &receivers{answers: answers, begun: map[string][]webhook.Attempt{}, accepted: map[string][]string{}}
}

// Send implements [webhook.Sender].
func (r *receivers) Send(ctx context.Context, a webhook.Attempt) webhook.Outcome {
	r.mu.Lock()
	r.begun[a.URL] = append(r.begun[a.URL], a)
	r.mu.Unlock()
	outcome := webhook.Outcome{Status: 200}
	if answer := r.answers[a.URL]; answer != nil {
		outcome = answer(ctx, a)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if outcome.Failure == "" {
		r.accepted[a.URL] = append(r.accepted[a.URL], a.Body)
	}
	return outcome
}

func (r *receivers) attempts(url string) []webhook.Attempt {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.begun[url])
}

// bodies returns what a receiver has accepted, in its order.
func (r *receivers) bodies(url string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.accepted[url])
}

// fails answers with a status.
func fails(status int) func(context.Context, webhook.Attempt) webhook.Outcome {
	return func(context.Context, webhook.Attempt) webhook.Outcome {
		return webhook.Outcome{Status: status, Start: "no", Failure: webhook.FailedStatus}
	}
}

// hangs answers when the test ends.
func hangs(t testing.TB) func(context.Context, webhook.Attempt) webhook.Outcome {
	t.Helper()
	return func(context.Context, webhook.Attempt) webhook.Outcome {
		<-t.Context().Done()
		return webhook.Outcome{Failure: webhook.FailedTimeout}
	}
}

// wantAll checks that a receiver has accepted every event, and each body under one id.
func (f *fixture) wantAll(t testing.TB, r *receivers, url string) {
	t.Helper()
	want := f.read(t, "SELECT body FROM webhook_delivery d JOIN webhook_endpoint e ON e.id = d.endpoint_id WHERE e.url = $1", url)
	got := r.bodies(url)
	slices.Sort(want)
	slices.Sort(got)
	if events := f.read(t, "SELECT event_id::text FROM outbox WHERE type LIKE 'order.%'"); len(events) != len(want) {
		t.Errorf("%s: %d deliveries of %d events", url, len(want), len(events))
	}
	if !slices.Equal(slices.Compact(got), want) {
		t.Errorf("%s: %d different events were accepted, want %d", url, len(slices.Compact(got)), len(want))
	}
	ids := map[string]string{}
	for _, a := range r.attempts(url) {
		if body, known := ids[a.EventID]; known && body != a.Body {
			t.Errorf("%s: two bodies have the id %s", url, a.EventID)
		}
		ids[a.EventID] = a.Body
	}
	if len(ids) != len(want) {
		t.Errorf("%s: %d ids for %d events", url, len(ids), len(want))
	}
}

// statuses returns "url status attempts: number" of all deliveries, sorted.
func (f *fixture) statuses(t testing.TB) []string {
	t.Helper()
	return f.read(t, `SELECT concat(e.url, ' ', d.status, ' ', d.attempts, ': ', count(*))
		FROM webhook_delivery d JOIN webhook_endpoint e ON e.id = d.endpoint_id GROUP BY e.url, d.status, d.attempts ORDER BY 1`)
}

// retryAtOnce lets the courier attempt a delivery again as soon as its failure is recorded.
func (f *fixture) retryAtOnce(t testing.TB) func(*webhook.Courier) {
	t.Helper()
	return func(c *webhook.Courier) {
		record := c.Record
		c.Record = func(ctx context.Context, endpointID int64, attempts []webhook.Ended) error {
			err := record(ctx, endpointID, attempts)
			for _, a := range attempts {
				f.execute(t, `UPDATE webhook_delivery SET next_attempt_at = now() WHERE id = $1 AND attempts = $2 AND status = 'pending'`,
					a.DeliveryID, a.Number)
			}
			return err
		}
	}
}

// wantOrder checks that the events of each aggregate arrived in order at a receiver that
// drops repeats.
func wantOrder(t testing.TB, bodies []string) {
	t.Helper()
	last, seen := map[string]float64{}, map[string]bool{}
	for _, body := range bodies {
		if seen[body] {
			continue
		}
		seen[body] = true
		var e struct {
			Subject string
			Data    map[string]any
		}
		if err := json.Unmarshal([]byte(body), &e); err != nil {
			t.Fatal(err)
		}
		number, ok := e.Data["endpoint_id"].(float64)
		if !ok || number < last[e.Subject] {
			t.Errorf("%s: event %v follows event %v", e.Subject, number, last[e.Subject])
		}
		last[e.Subject] = number
	}
}
