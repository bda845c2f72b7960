package upgrade_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/internal/test/e2e/routes"
	"example.com/orders/kit/guard"
	"example.com/orders/migrations"
)

var record = flag.String("record", "", "write testdata/release.json and testdata/queries.sql as of this `version`")

// The files in testdata.
const (
	releaseFile = "testdata/release.jsonl"
	queriesFile = "testdata/queries.sql"
)

// line is a line of releaseFile: first the version, its schema and the fingerprint versions
// that it knows, then the responses that it stored, then the rows that it left.
type line struct {
	Version  string    `json:",omitempty"`
	Schema   uint      `json:",omitempty"`
	Knows    []int     `json:",omitempty"`
	Response *response `json:",omitempty"`
	Row      *row      `json:",omitempty"`
}

// response is a stored response with its request.
type response struct {
	Name                                string
	Subject, Role                       string
	Method, Path, Key, Body             string
	Status                              int
	Refused                             bool `json:",omitempty"`
	ContentType, Location, ResponseBody string
}

// row is a row of a table, as PostgreSQL writes it as JSON.
type row struct {
	Table  string
	Values json.RawMessage
}

// TestRecord has every guarded command stored once, and each of its refusals.
func TestRecord(t *testing.T) {
	if *record == "" {
		t.Skip("use -record=VERSION when a version is released")
	}
	schema, err := migrations.Newest()
	if err != nil {
		t.Fatal(err)
	}
	s := e2e.Start(t)
	lines := []line{{Version: *record, Schema: schema, Knows: knownFingerprints()}}
	for _, route := range routes.Guarded() {
		c, key := routes.Prepare(t, s, route), s.NewKey()
		lines = append(lines, line{Response: responseOf(route, c, key, c.MustRun(t, key))})
	}
	for _, refusal := range routes.Refusals() {
		r, key := routes.PrepareRefusal(t, s, refusal), s.NewKey()
		refused := responseOf(refusal.String(), r.Command, key, r.WantProblem(t, r.RefusedStatus, r.Code, r.WithKey(key)))
		refused.Refused = true
		lines = append(lines, line{Response: refused})
	}
	var text strings.Builder
	for _, l := range append(lines, readRows(t, s.Env)...) {
		if err := json.NewEncoder(&text).Encode(l); err != nil {
			t.Fatal(err)
		}
	}
	write(t, releaseFile, text.String())
	write(t, queriesFile, strings.Join(findQueries(t), "\n\n")+"\n")
}

// knownFingerprints returns the fingerprint versions that the program can compare.
func knownFingerprints() (known []int) {
	for version := range 256 {
		if _, err := (guard.Content{}).Matches(guard.Fingerprint([]byte{byte(version)})); err == nil {
			known = append(known, version)
		}
	}
	return known
}

func responseOf(name string, c routes.Command, key string, r e2e.Reply) *response {
	return &response{
		Name: name, Subject: c.Subject, Role: c.Role,
		Method: c.Call.Method, Path: c.Call.Path, Key: key, Body: c.Call.Body,
		Status: r.Status, ContentType: r.Header.Get("Content-Type"), Location: r.Header.Get("Location"), ResponseBody: string(r.Body),
	}
}

// readRows returns all rows but those of golang-migrate.
func readRows(t *testing.T, env *e2e.Env) (lines []line) {
	t.Helper()
	rows, _ := env.DB.Query(t.Context(), `SELECT relname::text FROM pg_class
		WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname <> 'schema_migrations' ORDER BY 1`)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		rows, _ := env.DB.Query(t.Context(), "SELECT '"+table+"', to_jsonb(r)::text::json FROM "+table+" r ORDER BY r::text COLLATE \"C\"")
		of, err := pgx.CollectRows(rows, pgx.RowToAddrOfStructByPos[row])
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range of {
			lines = append(lines, line{Row: r})
		}
	}
	return lines
}

// queryPattern recognises a query in Go, after comments such as the name that sqlc writes.
var queryPattern = regexp.MustCompile("`((?:--[^\n]*\n|\\s)*(?:SELECT|INSERT|UPDATE|DELETE|WITH)\\s[^`]*)`")

// findQueries returns the queries of the PostgreSQL adapter, each with a name.
func findQueries(t *testing.T) (queries []string) {
	t.Helper()
	adapter := os.DirFS("../../internal/adapters/out/postgres")
	err := fs.WalkDir(adapter, ".", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return err
		}
		text, err := fs.ReadFile(adapter, file)
		for _, match := range queryPattern.FindAllStringSubmatch(string(text), -1) {
			query := strings.TrimSpace(match[1])
			if !strings.HasPrefix(query, "-- name: ") {
				query = fmt.Sprintf("-- name: %s %d\n%s", file, len(queries), query)
			}
			queries = append(queries, query)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return queries
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
