package postgres_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	pgtest "example.com/orders/internal/test/pg"
)

// executions is how often a connection executes a statement before the tables fill up.
// PostgreSQL decides after five whether a statement keeps its plan from then on.
const executions = 6

// TestEveryQueryReadsLittleOfLargeTables executes every query of this package on large
// tables, with the plan that a connection of ours made earlier: when the tables were
// empty, when they had a few rows, or now.
func TestEveryQueryReadsLittleOfLargeTables(t *testing.T) {
	t.Parallel()
	queries := findQueries(t)
	checkThatEachHasACase(t, queries)

	t.Run("planned on new tables", func(t *testing.T) {
		t.Parallel()
		d := newUndisturbedDatabase(t)
		conn := acquire(t, d)
		planQueries(t, conn, queries)
		fillTables(t, d, 1, largeTable)
		checkPlans(t, conn, queries)
	})
	t.Run("planned on empty tables", func(t *testing.T) {
		t.Parallel()
		d := newUndisturbedDatabase(t)
		d.execute(t, "VACUUM")
		conn := acquire(t, d)
		planQueries(t, conn, queries)
		fillTables(t, d, 1, largeTable)
		checkPlans(t, conn, queries)
		d.execute(t, "ANALYZE") // which lets the connection plan its statements again
		checkPlans(t, conn, queries)
		// No query needs enable_seqscan=off once its tables have statistics.
		other := acquire(t, d)
		execute(t, other, "SET enable_seqscan = on")
		planQueries(t, other, queries)
		checkPlans(t, other, queries)
	})
	t.Run("planned on tables with a few rows", func(t *testing.T) {
		t.Parallel()
		d := newUndisturbedDatabase(t)
		fillTables(t, d, 1, 10)
		d.execute(t, "VACUUM ANALYZE")
		conn := acquire(t, d)
		planQueries(t, conn, queries)
		fillTables(t, d, 11, largeTable)
		checkPlans(t, conn, queries)
	})
}

// newUndisturbedDatabase returns a database on a cluster where nothing else runs. An idle
// connection that misses too many catalog changes, even those of other databases, drops its
// plans; autovacuum would give the tables statistics. A plan that reads all of one table for
// each row of another ends after a minute instead of many.
func newUndisturbedDatabase(t *testing.T) *database {
	t.Helper()
	server := pgtest.NewCluster(t, map[string]string{"autovacuum": "off", "fsync": "off", "statement_timeout": "1min"})
	return openDatabase(t, pgtest.NewOn(t, server))
}

// acquire returns a connection with the settings that the store runs its queries under.
func acquire(t *testing.T, d *database) *pgx.Conn {
	t.Helper()
	conn, err := d.Pool().Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Release)
	return conn.Conn()
}

// findQueries returns the SQL of every query by its name: those that sqlc generates, and
// those that stand in Go code of this package.
func findQueries(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	rooms, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	queries := make(map[string]string)
	for _, file := range slices.Concat(files, rooms) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				addQuery(t, queries, literal.Value)
			}
			return true
		})
	}
	return queries
}

var (
	statementPattern = regexp.MustCompile(`^(?:--[^\n]*\n|\s)*(?:SELECT|INSERT|UPDATE|DELETE|WITH)\s`)
	namePattern      = regexp.MustCompile(`^-- name: (\w+)`)
)

// addQuery adds a string literal to queries if it is SQL. The name of a query without a
// name is its first line.
func addQuery(t *testing.T, queries map[string]string, literal string) {
	t.Helper()
	text, err := strconv.Unquote(literal)
	if err != nil {
		t.Fatal(err)
	}
	if !statementPattern.MatchString(text) {
		return
	}
	name, _, _ := strings.Cut(text, "\n")
	if match := namePattern.FindStringSubmatch(text); match != nil {
		name = match[1]
	}
	queries[name] = text
}

func checkThatEachHasACase(t *testing.T, queries map[string]string) {
	t.Helper()
	for name := range queries {
		if len(planCases[name]) == 0 {
			t.Errorf("query %s has no case in planCases", name)
		}
	}
	for name := range planCases {
		if queries[name] == "" {
			t.Errorf("planCases has a case for %s, which is no query", name)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
}

// planQueries prepares every query on conn, as pgx does when a query first occurs, and
// executes it until PostgreSQL keeps its plan. No effect of that remains.
func planQueries(t *testing.T, conn *pgx.Conn, queries map[string]string) {
	t.Helper()
	names := slices.SortedFunc(maps.Keys(queries), insertsLast)
	for _, name := range names {
		sql, first := queries[name], planCases[name][0]
		if _, err := conn.Prepare(t.Context(), statementName(name), sql); err != nil {
			t.Fatalf("prepare %s: %v", name, err)
		}
		for range executions {
			execute(t, conn, "BEGIN")
			_, err := conn.Exec(t.Context(), executeStatement(name, first.args))
			var refused *pgconn.PgError
			if err != nil && (!errors.As(err, &refused) || refused.Code != "23503") { // foreign_key_violation
				t.Errorf("execute %s: %v", name, err)
			}
			execute(t, conn, "ROLLBACK")
		}
	}
}

// insertsLast orders names of queries so that tables are still without a page when other
// queries are planned: an insert leaves one behind, even if it is rolled back.
func insertsLast(a, b string) int {
	inserts := regexp.MustCompile("^(?i:insert|put)")
	if inserts.MatchString(a) != inserts.MatchString(b) {
		return cmp.Compare(strconv.FormatBool(inserts.MatchString(a)), strconv.FormatBool(inserts.MatchString(b)))
	}
	return cmp.Compare(a, b)
}

// checkPlans executes every case on conn and compares what it read with its bounds.
func checkPlans(t *testing.T, conn *pgx.Conn, queries map[string]string) {
	t.Helper()
	// ANALYZE makes conn forget the tables: the query that comes first would read the
	// catalogue for all.
	execute(t, conn, "SELECT pg_total_relation_size(oid) FROM pg_class WHERE relkind = 'r'")
	for name := range queries {
		for _, c := range planCases[name] {
			execute(t, conn, "BEGIN")
			scanned := sequentiallyRead(t, conn)
			plan := explain(t, conn, executeStatement(name, c.args))
			scanned = sequentiallyRead(t, conn) - scanned
			execute(t, conn, "ROLLBACK")
			rows, buffers := plan.rowsRead(), plan.SharedHit+plan.SharedRead
			if rows > c.rows || buffers > c.buffers || scanned > c.scanned {
				t.Errorf("%s(%s) read %d rows, of which %d sequentially, and %d buffers; want at most %d, %d and %d\n%+v",
					name, c.args, rows, scanned, buffers, c.rows, c.scanned, c.buffers, plan)
			}
		}
	}
}

// sequentiallyRead counts the rows that sequential scans of this session returned,
// including those of foreign keys.
func sequentiallyRead(t *testing.T, conn *pgx.Conn) (rows int) {
	t.Helper()
	err := conn.QueryRow(t.Context(), "SELECT sum(seq_tup_read)::bigint FROM pg_stat_xact_user_tables").Scan(&rows)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// planNode is one node of a plan in the words of EXPLAIN.
type planNode struct {
	Type             string     `json:"Node Type"`
	Rows             float64    `json:"Actual Rows"`
	Loops            float64    `json:"Actual Loops"`
	RemovedByFilter  float64    `json:"Rows Removed by Filter"`
	RemovedByRecheck float64    `json:"Rows Removed by Index Recheck"`
	SharedHit        int        `json:"Shared Hit Blocks"`
	SharedRead       int        `json:"Shared Read Blocks"`
	Relation         string     `json:"Relation Name"`
	Index            string     `json:"Index Name"`
	IndexCondition   string     `json:"Index Cond"`
	Filter           string     `json:"Filter"`
	Plans            []planNode `json:"Plans"`
}

// rowsRead returns how many rows the scans of a plan read, also those that a filter
// removed.
func (n planNode) rowsRead() int {
	rows := 0
	switch {
	case n.Type == "Bitmap Index Scan": // its entries are counted where the table is read
	case strings.HasSuffix(n.Type, " Scan") && (n.Relation != "" || n.Index != ""):
		rows = int((n.Rows + n.RemovedByFilter + n.RemovedByRecheck) * n.Loops)
	}
	for _, child := range n.Plans {
		rows += child.rowsRead()
	}
	return rows
}

// explain executes a statement and returns its plan.
func explain(t *testing.T, conn *pgx.Conn, statement string) planNode {
	t.Helper()
	var document string
	err := conn.QueryRow(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, TIMING off, FORMAT JSON) "+statement,
		pgx.QueryExecModeSimpleProtocol).Scan(&document)
	if err != nil {
		t.Fatalf("explain %s: %v", statement, err)
	}
	var explained []struct {
		Plan planNode
		JIT  json.RawMessage
	}
	if err := json.Unmarshal([]byte(document), &explained); err != nil {
		t.Fatal(err)
	}
	if explained[0].JIT != nil {
		t.Errorf("%s is compiled, which takes longer than to run it", statement)
	}
	return explained[0].Plan
}

func statementName(query string) string { return "plan of " + query }

func executeStatement(query, args string) string {
	statement := "EXECUTE " + pgx.Identifier{statementName(query)}.Sanitize()
	if args == "" {
		return statement
	}
	return fmt.Sprintf("%s (%s)", statement, args)
}

func execute(t *testing.T, conn *pgx.Conn, statement string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// fillTables adds the rows from first to last to every table.
func fillTables(t *testing.T, d *database, first, last int) {
	t.Helper()
	fills := strings.Join(tableFills, ";\n")
	d.execute(t, "SET session_replication_role = replica;\n"+ // no foreign keys are checked
		strings.NewReplacer("$first", strconv.Itoa(first), "$last", strconv.Itoa(last),
			"$large", strconv.Itoa(largeTable)).Replace(fills))
}
