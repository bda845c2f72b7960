package upgrade_test

import (
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/migrations"
)

var record = flag.String("record", "", "write testdata/release.json and testdata/queries.sql as of this `version`")

// The files in testdata.
const (
	releaseFile = "testdata/release.jsonl"
	queriesFile = "testdata/queries.sql"
)

// line is a line of releaseFile: first the version and its schema, then the responses that it
// stored, then the rows that it left.
type line struct {
	Version  string    `json:",omitempty"`
	Schema   uint      `json:",omitempty"`
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
	lines := []line{{Version: *record, Schema: schema}}
	for _, route := range e2e.GuardedRoutes() {
		c, key := s.Prepare(t, route), s.NewKey()
		lines = append(lines, line{Response: responseOf(route, c, key, c.MustRun(t, key))})
	}
	for _, refusal := range e2e.GuardedRefusals() {
		r, key := s.PrepareRefusal(t, refusal), s.NewKey()
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

func responseOf(name string, c e2e.Command, key string, r e2e.Reply) *response {
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

// queryPattern recognises a query, after the name that sqlc writes before it.
var queryPattern = regexp.MustCompile(`^(-- name: \w+ :\w+\n)?(?:--[^\n]*\n|\s)*(?:SELECT|INSERT|UPDATE|DELETE|WITH)\s`)

// findQueries returns the queries of the service, each with a name.
func findQueries(t *testing.T) (queries []string) {
	t.Helper()
	const adapter = "../../adapters/out/postgres/"
	generated, err := filepath.Glob(adapter + "dbsqlc/*.go")
	if err != nil || len(generated) == 0 {
		t.Fatalf("%d files of queries, err = %v", len(generated), err)
	}
	for _, file := range append(generated, adapter+"db.go", adapter+"intents.go") {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			switch found := queryPattern.FindStringSubmatch(text); {
			case found == nil:
			case found[1] == "":
				queries = append(queries, "-- name: "+filepath.Base(file)+"\n"+strings.TrimSpace(text))
			default:
				queries = append(queries, strings.TrimSpace(text))
			}
			return true
		})
	}
	return queries
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
