package step

import (
	"fmt"
	"strings"
	"testing"

	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/test/e2e"
	pgtest "example.com/orders/internal/test/pg"
)

// world is the database of many runs.
type world struct {
	out        *outside
	serviceURL string
	of         names
	restored   int
	mark       string // the transaction that restored last
	vacuum     string
	groups     map[int]int
	met        map[string]bool // meetings
}

// vacuumAfter is how many runs leave their dead rows behind.
const vacuumAfter = 50

func newWorld(t *testing.T) *world {
	t.Helper()
	url := pgtest.New(t)
	w := &world{mark: "0", groups: map[int]int{}, met: map[string]bool{}, serviceURL: e2e.WithParameter(t, pgtest.AsService(t, url), "sslmode", "disable")}
	out, err := newOutside(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	w.out = out
	t.Cleanup(out.close)
	db, err := postgres.Open(t.Context(), postgres.Config{URL: w.serviceURL, MaxConns: 4}, postgres.Groups{Lanes: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := newService(db.Orders(), db.Payments(), db.Keys())
	w.of, err = s.prepare(t.Context(), func(string) {})
	db.Close()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.remember(); err != nil {
		t.Fatal(err)
	}
	return w
}

// remember copies the tables, and makes the function that restores them.
func (w *world) remember() error {
	err := w.out.exec(`UPDATE orders SET reserved_until = now() - interval '1 minute' WHERE id = $1`, w.of["expired"])
	if err != nil {
		return err
	}
	if err := w.out.exec(`UPDATE message_memory SET forgotten_until = $1`, restockedAt.AddDate(-1, 0, 0)); err != nil {
		return err
	}
	if err := w.out.exec(`CREATE SCHEMA origin`); err != nil {
		return err
	}
	tables, err := column[string](w.out, `SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'schema_migrations' ORDER BY 1`)
	if err != nil {
		return err
	}
	restoring := []string{"#variable_conflict use_column\nBEGIN DELETE FROM river.river_job;"}
	for _, table := range tables {
		if err := w.out.exec(fmt.Sprintf("CREATE TABLE origin.%[1]s AS TABLE public.%[1]s", table)); err != nil {
			return err
		}
		columns, err := column[string](w.out, `SELECT string_agg(quote_ident(attname), ', ') FROM pg_attribute
			WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`, "public."+table)
		if err != nil {
			return err
		}
		restoring = append(restoring, fmt.Sprintf(restoreTable, table, columns[0]))
	}
	w.vacuum = "VACUUM river.river_job, " + strings.Join(tables, ", ")
	// The session ignores triggers and foreign keys from here on. A change of this setting
	// throws away its plans.
	if err := w.out.exec("SET session_replication_role = replica"); err != nil {
		return err
	}
	return w.out.exec("CREATE FUNCTION origin.restore(before bigint) RETURNS text LANGUAGE plpgsql AS $$" +
		strings.Join(restoring, "") + " RETURN pg_current_xact_id(); END$$")
}

// restoreTable restores a table that transactions have changed since the one that restored
// before.
const restoreTable = `
	IF (SELECT count(*) <> (SELECT count(*) FROM origin.%[1]s) OR max(xmin::text::bigint) > before FROM public.%[1]s) THEN
		DELETE FROM public.%[1]s;
		INSERT INTO public.%[1]s (%[2]s) OVERRIDING SYSTEM VALUE SELECT %[2]s FROM origin.%[1]s;
	END IF;`

// restore makes the database what it was after setUp.
func (w *world) restore() error {
	w.restored++
	mark, err := column[string](w.out, "SELECT origin.restore($1)", w.mark)
	if err != nil {
		return fmt.Errorf("restore the database: %w", err)
	}
	w.mark = mark[0]
	if w.restored%vacuumAfter == 0 {
		return w.out.exec(w.vacuum)
	}
	return nil
}
