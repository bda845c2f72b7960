package postgres_test

import (
	"context"
	"testing"
	"time"

	"example.com/orders/internal/idempotency"
)

// However much is kept, clean-up reads about what it removes.
func TestCleanUpReadsOnlyWhatItRemoves(t *testing.T) {
	t.Parallel()
	const kept, removed, enough = 20_000, 10, 200
	for table, test := range map[string]struct {
		fill  string // $1 rows, of which the first $2 are to be removed
		clean func(context.Context, *database) (int, error)
	}{
		"idempotency_record": {
			`INSERT INTO idempotency_record (scope, key, fingerprint, operation, status, content_type, location, body, created_at, expires_at)
			 SELECT 'alice', i::text, '', 'creditBalance', 201, '', '', '', now(), now() + CASE WHEN i <= $2 THEN -1 ELSE 1 END * interval '1 hour'
			 FROM generate_series(1, $1::int) i`,
			func(ctx context.Context, d *database) (int, error) { return d.Keys().DeleteExpired(ctx, 500) },
		},
		"processed_message": {
			`INSERT INTO processed_message (source, message_id, processed_at)
			 SELECT 'stripe', i::text, now() - CASE WHEN i <= $2 THEN 31 ELSE 1 END * interval '1 day'
			 FROM generate_series(1, $1::int) i`,
			func(ctx context.Context, d *database) (int, error) { return d.DeleteOldMessages(ctx, 500) },
		},
		"outbox": {
			`INSERT INTO outbox (type, aggregate, data, created_at, published_at)
			 SELECT 'order.paid', 'order/' || i, '{}', now(), CASE WHEN i <= $2 THEN now() - interval '1 hour' END
			 FROM generate_series(1, $1::int) i`,
			func(ctx context.Context, d *database) (int, error) {
				return d.Outbox().DeletePublished(ctx, time.Minute, removed)
			},
		},
	} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			for _, sql := range []string{test.fill, "ANALYZE " + table} {
				var args []any
				if sql == test.fill {
					args = []any{kept + removed, removed}
				}
				if _, err := d.plain.Exec(t.Context(), sql, args...); err != nil {
					t.Fatal(err)
				}
			}
			before := d.read(t, table)
			for _, want := range []int{removed, 0} {
				if n, err := test.clean(t.Context(), d); err != nil || n != want {
					t.Fatalf("%d rows were removed, %v; want %d", n, err, want)
				}
			}
			d.Close() // connections that end hand their counts in
			d.await(t, "SELECT pg_stat_get_tuples_deleted('"+table+"'::regclass)", removed)
			if n := d.read(t, table) - before; n > enough {
				t.Errorf("%d rows were read to remove %d", n, removed)
			}
		})
	}
}

// A statement keeps the plan that it was given when its table was empty.
func TestAKeyIsFoundByIndexInATableThatWasEmpty(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	db := open(t, d.url+"&pool_max_conns=1")
	for _, fill := range []string{
		`VACUUM ANALYZE idempotency_record`,
		`INSERT INTO idempotency_record (scope, key, fingerprint, operation, status, content_type, location, body, created_at, expires_at)
		 SELECT 'alice', i::text, '', 'creditBalance', 201, '', '', '', now(), now() + interval '1 hour' FROM generate_series(1, 1000) i`,
	} {
		if _, err := d.plain.Exec(t.Context(), fill); err != nil {
			t.Fatal(err)
		}
		if _, found, err := db.Keys().Lookup(t.Context(), idempotency.ID{Scope: "bob", Key: "1"}); found || err != nil {
			t.Fatalf("found %t, %v; want nothing", found, err)
		}
	}
	db.Close() // connections that end hand their counts in
	d.await(t, "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'idempotency_record_pkey'", 2)
}

// read counts the rows of a table that have been read, in whatever way.
func (d *database) read(t testing.TB, table string) int {
	t.Helper()
	return d.count(t, `SELECT t.seq_tup_read + sum(i.idx_tup_read) FROM pg_stat_user_tables t
		JOIN pg_stat_user_indexes i USING (relid) WHERE t.relname = '`+table+`' GROUP BY t.seq_tup_read`)
}
