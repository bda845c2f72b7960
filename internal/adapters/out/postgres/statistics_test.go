package postgres_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/adapters/out/postgres/reconcile"
)

func TestExpired_CountsManyRecordsInPart(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	insert := func(n, expires string) {
		d.execute(t, `INSERT INTO idempotency_record (scope, key, fingerprint, operation, status, content_type, location, body, created_at, expires_at)
			SELECT 'alice', gen_random_uuid(), '', 'creditBalance', 201, '', '', '', now() - interval '3 days', now() + interval '`+expires+`'
			FROM generate_series(1, `+n+`)`)
	}
	for _, step := range []struct {
		n, expires string
		want       int64
	}{{"5", "1 hour", 0}, {"2", "-1 hour", 2}, {"10001", "-1 day", 10_000}} {
		insert(step.n, step.expires)
		if n, err := d.Keys().Expired(t.Context()); err != nil || n != step.want {
			t.Errorf("after %s that expire in %s: %d, %v; want %d", step.n, step.expires, n, err, step.want)
		}
	}
}

// insertJobs inserts jobs that were created an hour ago.
func (d *database) insertJobs(t *testing.T, n int, kind, state string) {
	t.Helper()
	d.execute(t, `INSERT INTO river.river_job (kind, args, max_attempts, priority, queue, state, created_at, scheduled_at, attempted_at, finalized_at)
		SELECT '`+kind+`', '{}', 2, 1, 'default', '`+state+`', now() - interval '1 hour', now(), now(),
		       CASE WHEN '`+state+`' IN ('cancelled', 'completed', 'discarded') THEN now() END
		FROM generate_series(1, `+strconv.Itoa(n)+`)`)
}

func TestCountJobs_CountsByKindAndState(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	want := map[string]int64{}
	for state, n := range map[string]int{
		"available": 1, "cancelled": 2, "discarded": 10_001, "pending": 4, "retryable": 5, "running": 6, "scheduled": 7,
	} {
		d.insertJobs(t, n, "settle_payment", state)
		want["settle_payment "+state] = int64(min(n, 10_000))
	}
	d.insertJobs(t, 3, "reconcile", "available")
	d.insertJobs(t, 3, "reconcile", "completed")
	d.insertJobs(t, 1, "of_another_version", "available")
	jobs, err := d.CountJobs(t.Context(), []string{"settle_payment", "reconcile", "clean_outbox"})
	if err != nil {
		t.Fatal(err)
	}
	want["reconcile available"] = 3
	got := map[string]int64{}
	for _, j := range jobs {
		if j.Count > 0 {
			got[j.Kind+" "+j.State] = j.Count
		}
		if hour := j.Oldest >= time.Hour && j.Oldest < 2*time.Hour; hour != (j.Count > 0) {
			t.Errorf("%+v, want an age of an hour", j)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(jobs) != 3*7 {
		t.Errorf("%d figures; %s", len(jobs), diff)
	}
}

func TestTables_HaveTheirSizes(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.execute(t, `INSERT INTO outbox (type, aggregate, data, created_at)
		SELECT 'test.happened', 'thing/' || i, '{}', now() FROM generate_series(1, 1000) i`, "ANALYZE outbox")
	tables, err := d.Tables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]reconcile.Table{}
	for _, table := range tables {
		named[table.Name] = table
	}
	if n := d.count(t, "SELECT count(*) + 1 FROM pg_tables WHERE schemaname = 'public'"); len(named) != n || len(tables) != n {
		t.Errorf("%d tables, want ours and River's jobs: %d", len(tables), n)
	}
	outbox := named["outbox"]
	if outbox.Rows != 1000 || outbox.Bytes < 50_000 || outbox.IndexBytes < 30_000 {
		t.Errorf("the outbox is %+v", outbox)
	}
	if jobs := named["river_job"]; jobs.Rows != 0 || jobs.IndexBytes == 0 {
		t.Errorf("the jobs are %+v", jobs)
	}

	// A migration may hold a table for long. Other figures must not wait for it.
	defer d.hold(t, "LOCK TABLE outbox IN ACCESS EXCLUSIVE MODE")()
	if tables, err := d.Tables(t.Context()); len(tables) != 0 || err != nil {
		t.Errorf("%d tables while one is locked, %v; want none", len(tables), err)
	}
}
