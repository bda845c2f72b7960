package step

import (
	"context"
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
	restoring  string // statements that restore the state of setUp
	restored   int
	groups     map[int]int
	met        map[string]bool // meetings
}

// vacuumAfter is how many runs leave their dead rows behind.
const vacuumAfter = 200

func newWorld(t *testing.T) *world {
	t.Helper()
	url := pgtest.New(t)
	w := &world{groups: map[int]int{}, met: map[string]bool{}, serviceURL: e2e.WithParameter(t, pgtest.AsService(t, url), "sslmode", "disable")}
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

// remember copies the tables, and makes the statements that restore them.
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
	restoring := []string{"SET session_replication_role = replica", "DELETE FROM river.river_job"}
	for _, table := range tables {
		if err := w.out.exec(fmt.Sprintf("CREATE TABLE origin.%[1]s AS TABLE public.%[1]s", table)); err != nil {
			return err
		}
		columns, err := column[string](w.out, `SELECT string_agg(quote_ident(attname), ', ') FROM pg_attribute
			WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`, "public."+table)
		if err != nil {
			return err
		}
		restoring = append(restoring, "DELETE FROM public."+table,
			fmt.Sprintf("INSERT INTO public.%[1]s (%[2]s) OVERRIDING SYSTEM VALUE SELECT %[2]s FROM origin.%[1]s", table, columns[0]))
	}
	w.restoring = strings.Join(append(restoring, "RESET session_replication_role"), "; ")
	return nil
}

// restore makes the database what it was after setUp.
func (w *world) restore() error {
	w.restored++
	if _, err := w.out.observer.PgConn().Exec(context.Background(), w.restoring).ReadAll(); err != nil {
		return fmt.Errorf("restore the database: %w", err)
	}
	if w.restored%vacuumAfter == 0 {
		return w.out.exec("VACUUM ANALYZE")
	}
	return nil
}
