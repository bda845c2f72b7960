package step

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/test/e2e"
	"example.com/orders/internal/test/invariants"
	pgtest "example.com/orders/internal/test/pg"
	"example.com/orders/lab/step/server"
)

// world is the database of many runs.
type world struct {
	server     *server.Server
	serviceURL string
	of         names
	restored   int
	tables     []string
	written    map[string]tables // by statement
	changed    tables            // since they were restored
	rules      []tables          // that each rule reads
	groups     map[int]int
	met        map[string]bool // meetings
}

// vacuumAfter is how many runs leave their dead rows behind.
const vacuumAfter = 200

func newWorld(t *testing.T) *world {
	t.Helper()
	url := pgtest.New(t)
	service := e2e.WithParameter(t, pgtest.AsService(t, url), "sslmode", "disable")
	// A run has fewer statements than the caches of its connections have room for.
	service = e2e.WithParameter(t, e2e.WithParameter(t, service, "statement_cache_capacity", "128"), "description_cache_capacity", "8")
	w := &world{written: map[string]tables{}, groups: map[int]int{}, met: map[string]bool{}, serviceURL: service}
	var err error
	if w.server, err = server.Open(url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.server.Close)
	db, err := postgres.Open(t.Context(), postgres.Config{URL: w.serviceURL, MaxConns: 4}, postgres.Groups{Lanes: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := newService(newProvider(), db.Orders(), db.Payments(), db.Webhooks(), db.Keys())
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

// remember copies the tables, and prepares the statements that restore and check them.
func (w *world) remember() error {
	_, err := w.server.Query(`UPDATE orders SET reserved_until = now() + CASE id WHEN %d THEN interval '-1 minute' ELSE interval '1 day' END
			WHERE reserved_until IS NOT NULL; -- no reservation ends while the runs last
		UPDATE outbox SET dispatched_at = now() WHERE created_at < (SELECT min(created_at) FROM webhook_endpoint);
		UPDATE message_memory SET forgotten_until = '%s'; CREATE SCHEMA origin; SET search_path = public, river`, w.of["expired"], restockedAt.AddDate(-1, 0, 0).Format(time.RFC3339))
	if err != nil {
		return err
	}
	w.tables, err = w.server.Query(`SELECT tablename FROM pg_tables
		WHERE schemaname = 'public' AND tablename <> 'schema_migrations' OR tablename = 'river_job' ORDER BY 1`)
	if err != nil {
		return err
	}
	// The session ignores triggers and foreign keys from here on, and plans nothing again.
	prepare := []string{"SET session_replication_role = replica; SET plan_cache_mode = force_generic_plan"}
	var differ []string
	for _, table := range w.tables {
		columns, err := w.server.Query(`CREATE TABLE origin.%[1]s AS TABLE %[1]s;
			ALTER TABLE %[1]s SET (autovacuum_enabled = off); -- its locks and plans come at any time
			SELECT string_agg(quote_ident(attname), ', ') FROM pg_attribute
			WHERE attrelid = '%[1]s'::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`, table)
		if err != nil {
			return err
		}
		differ = append(differ, fmt.Sprintf(`SELECT '%[1]s' WHERE (SELECT count(*) FROM %[1]s) <> (SELECT count(*) FROM origin.%[1]s)
			OR EXISTS (SELECT t::text FROM %[1]s t EXCEPT SELECT t::text FROM origin.%[1]s t)`, table))
		prepare = append(prepare, fmt.Sprintf(`PREPARE empty_%[1]s AS DELETE FROM %[1]s; PREPARE fill_%[1]s AS
			INSERT INTO %[1]s (%[2]s) OVERRIDING SYSTEM VALUE SELECT %[2]s FROM origin.%[1]s`, table, columns[0]))
	}
	prepare = append(prepare, "PREPARE differ AS "+strings.Join(differ, " UNION ALL "))
	for i, query := range append(invariants.Queries(), stored, final, subscribed) {
		query = strings.ReplaceAll(query, "$1", "'"+initial+"'::jsonb")
		w.rules = append(w.rules, w.tablesIn(word, query))
		prepare = append(prepare, fmt.Sprintf("PREPARE rule_%d AS %s", i, query))
	}
	_, err = w.server.Query("%s", strings.Join(prepare, ";"))
	return err
}

// tables is a set of tables, by number.
type tables uint64

var (
	word    = regexp.MustCompile(`(\w+)`)
	written = regexp.MustCompile(`(?i)\b(?:insert\s+into|update|delete\s+from)\s+(?:\w+\.)?(\w+)`)
)

// tablesIn returns the tables that a statement names where the pattern says.
func (w *world) tablesIn(pattern *regexp.Regexp, sql string) (found tables) {
	for _, match := range pattern.FindAllStringSubmatch(sql, -1) {
		if i, isTable := slices.BinarySearch(w.tables, match[1]); isTable {
			found |= 1 << i
		}
	}
	return found
}

// writes returns the tables that a statement writes.
func (w *world) writes(sql string) tables {
	found, known := w.written[sql]
	if !known {
		found = w.tablesIn(written, sql)
		w.written[sql] = found
	}
	return found
}

// restore returns the tables that runs have changed to their state after setUp.
func (w *world) restore() error {
	var statements strings.Builder
	for i, table := range w.tables {
		if w.changed&(1<<i) != 0 {
			fmt.Fprintf(&statements, "EXECUTE empty_%[1]s; EXECUTE fill_%[1]s;", table)
		}
	}
	w.changed = 0
	w.restored++
	if _, err := w.server.Query("%s", statements.String()); err != nil || w.restored%vacuumAfter > 0 {
		return err
	}
	differ, err := w.server.Query("EXECUTE differ")
	if err == nil && len(differ) > 0 {
		err = fmt.Errorf("a run has changed %v, and no statement names them", differ)
	}
	if err == nil {
		_, err = w.server.Query("VACUUM %s", strings.Join(w.tables, ", "))
	}
	return err
}

// violations returns the lines from the rules about tables.
func (w *world) violations(about tables) ([]string, error) {
	var statements strings.Builder
	for i, read := range w.rules[:len(w.rules)-2] {
		if read&about != 0 {
			fmt.Fprintf(&statements, "EXECUTE rule_%d;", i)
		}
	}
	return w.server.Query("%s", statements.String())
}

// end returns the lines of final and of subscribed.
func (w *world) end() (state, deliveries []string, err error) {
	state, err = w.server.Query("EXECUTE rule_%d", len(w.rules)-2)
	if err == nil {
		deliveries, err = w.server.Query("EXECUTE rule_%d", len(w.rules)-1)
	}
	return state, deliveries, err
}
