package postgres_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/kit/guard"
	"example.com/orders/kit/guard/internal/testdb"
	"example.com/orders/kit/guard/pgxstore"
)

func TestCheck_NamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, d driver, pool *pgxpool.Pool) {
		for _, step := range []struct{ damage, repair, want string }{
			{"", "", ""},
			{"ALTER TABLE idempotency_record DROP COLUMN location", "ALTER TABLE idempotency_record ADD location text", "location text"},
			{"ALTER TABLE idempotency_record ALTER status TYPE text", "ALTER TABLE idempotency_record ALTER status TYPE int USING 0", "status integer"},
			{
				"ALTER TABLE idempotency_record DROP CONSTRAINT idempotency_record_pkey",
				"ALTER TABLE idempotency_record ADD UNIQUE (scope, key)", "primary key (scope, key)",
			},
			{"ALTER TABLE idempotency_record RENAME TO other", "ALTER TABLE other RENAME TO idempotency_record", "no table idempotency_record"},
			{"SELECT 1", "", ""},
		} {
			testdb.Exec(t, pool, step.damage)
			err := d.open(t, pool).Check(t.Context())
			if (err == nil) != (step.want == "") || err != nil && !strings.Contains(err.Error(), step.want) {
				t.Errorf("%s: %v, want %q", step.damage, err, step.want)
			}
			testdb.Exec(t, pool, step.repair)
		}
	})
}

func TestCheck_NamesMissingPrivileges(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, d driver, pool *pgxpool.Pool) {
		role := "reader_" + pool.Config().ConnConfig.Database
		testdb.Exec(t, pool, "CREATE ROLE "+role+" LOGIN; GRANT SELECT, INSERT ON idempotency_record TO "+role)
		defer testdb.Exec(t, pool, "DROP OWNED BY "+role+"; DROP ROLE "+role)
		cfg := pool.Config()
		cfg.ConnConfig.RuntimeParams["role"] = role
		if err := d.open(t, testdb.Open(t, cfg)).Check(t.Context()); err == nil || !strings.Contains(err.Error(), "UPDATE, DELETE") {
			t.Errorf("%v, want UPDATE and DELETE", err)
		}
	})
}

func TestSchema_CreatesATableWhereItIsNamed(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	testdb.Exec(t, pool, "CREATE SCHEMA billing;"+pgxstore.Schema("billing.key")+pgxstore.Schema("billing.key"))
	s := pgxstore.New(pool, pgxstore.Table("billing.key"))
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if rec, _, err := s.Execute(t.Context(), claim, func(context.Context) (guard.Result, error) { return created, nil }); err != nil || rec.Status != 201 {
		t.Errorf("%+v, %v", rec, err)
	}
	if n := testdb.Count(t, pool, "SELECT count(*) FROM billing.key"); n != 1 {
		t.Errorf("%d records, want 1", n)
	}
	for _, name := range []string{"", "Key", "a.b.c", "key; DROP TABLE key", `"key"`, "key "} {
		if !panics(func() { pgxstore.Schema(name) }) {
			t.Errorf("%q is a name", name)
		}
	}
}

func panics(f func()) (panicked bool) {
	defer func() { panicked = recover() != nil }()
	f()
	return false
}
