package postgres_test

import (
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"example.com/orders/internal/core"
	"example.com/orders/migrations"
)

// insertUndecided inserts payments that have been processing for an hour, and their
// refunds, which are pending.
func (d *database) insertUndecided(t *testing.T, n int) {
	t.Helper()
	for _, statement := range []string{
		`INSERT INTO orders (id, customer_id, seller_id, status, total, currency, version, created_by, idempotency_key, created_at, updated_at)
		 OVERRIDING SYSTEM VALUE
		 SELECT i, 'ann', 'shop', 'payment_processing', 1, 'RUB', 1, 'ann', 'key-' || i, now(), now() FROM generate_series(1, $1::int) i`,
		`INSERT INTO payment (id, order_id, idempotency_key, amount, currency, method, status, created_by, created_at, provider, card_token)
		 OVERRIDING SYSTEM VALUE
		 SELECT i, i, 'key-' || i, 1, 'RUB', 'card', 'processing', 'ann', now() - interval '1 hour', 'stripe', 'token' FROM generate_series(1, $1::int) i`,
		`INSERT INTO refund (id, payment_id, order_id, amount, currency, status, full_refund, created_by, created_at)
		 OVERRIDING SYSTEM VALUE
		 SELECT i, i, i, 1, 'RUB', 'pending', true, 'ann', now() - interval '1 hour' FROM generate_series(1, $1::int) i`,
	} {
		if _, err := d.plain.Exec(t.Context(), statement, n); err != nil {
			t.Fatal(err)
		}
	}
}

// wantRestored restores the jobs of all payments and refunds, and compares those that were
// gone.
func (d *database) wantRestored(t *testing.T, want ...int64) {
	t.Helper()
	payments, err := d.RestorePaymentJobs(t.Context(), core.Position{}, 100)
	if err != nil || !slices.Equal(payments.IDs, want) {
		t.Errorf("the jobs of payments %v were restored, %v; want %v", payments.IDs, err, want)
	}
	refunds, err := d.RestoreRefundJobs(t.Context(), core.Position{}, 100)
	if err != nil || !slices.Equal(refunds.IDs, want) {
		t.Errorf("the jobs of refunds %v were restored, %v; want %v", refunds.IDs, err, want)
	}
}

func TestRestoreJobs_InsertsOnlyWhatIsGone(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.insertUndecided(t, 8)
	d.wantRestored(t, 1, 2, 3, 4, 5, 6, 7, 8)
	var gone []int64
	for i, state := range rivertype.JobStates() {
		id := int64(i + 1)
		finalized := slices.Contains([]rivertype.JobState{"cancelled", "completed", "discarded"}, state)
		if finalized {
			gone = append(gone, id)
		}
		_, err := d.plain.Exec(t.Context(), `UPDATE river.river_job SET state = $1, finalized_at = CASE WHEN $2 THEN now() END
			WHERE args = jsonb_build_object('id', $3::bigint)`, state, finalized, id)
		if err != nil {
			t.Fatal(err)
		}
	}
	d.wantRestored(t, gone...)
	d.wantRestored(t)
	d.execute(t, "DELETE FROM river.river_job WHERE args = '{\"id\": 3}'")
	d.wantRestored(t, 3)
	d.execute(t, "DELETE FROM river.river_job",
		"UPDATE payment SET status = 'captured' WHERE id > 1", "UPDATE refund SET status = 'succeeded' WHERE id > 1",
		"UPDATE payment SET created_at = now() WHERE id = 1", "UPDATE refund SET created_at = now() WHERE id = 1")
	d.wantRestored(t)
}

// A page after another holds what follows it, whether its jobs are there or not.
func TestRestoreJobs_GoesThroughPages(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.insertUndecided(t, 5)
	d.wantRestored(t, 1, 2, 3, 4, 5)
	d.execute(t, "DELETE FROM river.river_job WHERE args = '{\"id\": 4}'")
	var after core.Position
	for page, want := range []struct {
		found    int
		restored []int64
	}{{2, nil}, {2, []int64{4}}, {1, nil}, {0, nil}} {
		got, err := d.RestorePaymentJobs(t.Context(), after, 2)
		if err != nil || got.Found != want.found || !slices.Equal(got.IDs, want.restored) {
			t.Fatalf("page %d is %+v, %v; want %+v", page, got, err, want)
		}
		after = got.Last
	}
}

// uniqueArgs is the arguments of a job that River inserts itself.
type uniqueArgs struct{}

func (uniqueArgs) Kind() string { return "unique" }

// The states in which a job keeps others out are written as River writes them.
func TestIntents_HaveTheUniqueStatesOfRiver(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.insertUndecided(t, 1)
	d.wantRestored(t, 1)
	client, err := river.NewClient(riverpgxv5.New(d.plain), &river.Config{Schema: migrations.RiverSchema})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Insert(t.Context(), uniqueArgs{}, &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByState: []rivertype.JobState{
		"available", "pending", "retryable", "running", "scheduled",
	}}})
	if err != nil {
		t.Fatal(err)
	}
	rows, _ := d.plain.Query(t.Context(), "SELECT DISTINCT unique_states::text FROM river.river_job")
	states, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(states) != 1 {
		t.Errorf("unique states %v, %v; want the same ones for all jobs", states, err)
	}
}
