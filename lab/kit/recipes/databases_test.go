//go:build node

package recipes

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	pgtest "example.com/orders/internal/test/pg"
)

// postgres returns a new database, and the variables that name it.
func postgres(t *testing.T, _ string) (query func(t *testing.T, sql string) string, env []string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), pgtest.New(t))
	if err != nil {
		t.Fatal(err)
	}
	cfg := conn.Config()
	query = func(t *testing.T, sql string) string {
		t.Helper()
		results, err := conn.PgConn().Exec(t.Context(), sql).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if rows := results[len(results)-1].Rows; len(rows) > 0 {
			return string(rows[0][0])
		}
		return ""
	}
	return query, []string{"PGHOST=" + cfg.Host, fmt.Sprintf("PGPORT=%d", cfg.Port), "PGUSER=" + cfg.User, "PGDATABASE=" + cfg.Database}
}

// library is where the Go module of the standard has the library for Python, which is also
// on PyPI.
const library = "go list -m -f '{{.Dir}}/python' github.com/standard-webhooks/standard-webhooks/libraries"

// execute prints the first value that statements return.
const execute = `
import sqlite3, sys
db, rows = sqlite3.connect("shop.db", isolation_level=None), []
for statement in sys.argv[1].split(";\n"):
    rows = db.execute(statement).fetchall()
print(*[row[0] for row in rows])`

// sqlite is postgres for a file in the folder. The variable leads to the library.
func sqlite(t *testing.T, dir string) (query func(t *testing.T, sql string) string, env []string) {
	t.Helper()
	path, err := exec.CommandContext(t.Context(), "sh", "-c", library).Output()
	if err != nil {
		t.Fatal(err)
	}
	query = func(t *testing.T, sql string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "python3", "-c", execute, sql)
		cmd.Dir, cmd.Stderr = dir, t.Output()
		printed, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(printed))
	}
	return query, []string{"PYTHONPATH=" + strings.TrimSpace(string(path)), "PYTHONDONTWRITEBYTECODE=1"}
}
