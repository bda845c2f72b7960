package pgtx

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func TestServerError_NamesConditionAndConstraint(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]*serverError{
		"SQLSTATE 25006 (read_only_sql_transaction)":    {state: "25006"},
		"SQLSTATE 23505 on payment_key":                 {state: "23505", constraint: "payment_key"},
		"SQLSTATE 42501 (insufficient_privilege) on t1": {state: "42501", constraint: "t1"},
	} {
		if got := err.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A connection pooler answers for a server that it has lost. Only an error that the
// server alone can report proves that nothing was stored.
func TestRolledBackByServer_TrustsOnlyWhatTheServerAloneReports(t *testing.T) {
	t.Parallel()
	for _, state := range []string{
		"08000", "08003", "08006", "08P01", // connection exceptions
		"40003",                            // statement_completion_unknown
		"57P01", "57P02", "57P03", "57P05", // the server stops or starts, the connection was idle
		"25P03", "25P04", // time-outs of transactions
		"53300", "58000", "58030", "XX000", "ZZ999",
	} {
		if rolledBackByServer(&pgconn.PgError{Severity: "ERROR", Code: state}) {
			t.Errorf("%s counts as a rollback", state)
		}
	}
	for _, c := range []struct {
		severity, original string
		want               bool
	}{
		{"ERROR", "ERROR", true},
		{"FATAL", "FATAL", false}, // the server may have committed before it ended the connection
		{"ОШИБКА", "ERROR", true},
		{"ВАЖНО", "FATAL", false},
	} {
		err := &pgconn.PgError{Severity: c.severity, SeverityUnlocalized: c.original, Code: "53200"}
		if got := rolledBackByServer(err); got != c.want {
			t.Errorf("%s: a rollback = %t, want %t", c.severity, got, c.want)
		}
	}
}

func TestNamesOf_NamesStatementsAndNoParameters(t *testing.T) {
	t.Parallel()
	for want, statements := range map[string][]string{
		"begin, TryLockKey, commit": {"begin", "-- name: TryLockKey :one\nSELECT 'secret'", "commit"},
		"InsertEvent, select":       {"-- name: InsertEvent :exec\nINSERT", "-- name: InsertEvent :exec\nINSERT", " SELECT 1"},
		"":                          nil,
	} {
		if got := namesOf(statements); got != want {
			t.Errorf("%q: %q, want %q", statements, got, want)
		}
	}
	if got := namesOf([]string{strings.Repeat("x", 300)}); len(got) != maxSummary {
		t.Errorf("a long name has %d bytes, want %d", len(got), maxSummary)
	}
}

// The driver dials the server again to cancel what it runs.
func TestKeepCommits_RefusesToDialDuringACommit(t *testing.T) {
	t.Parallel()
	cfg, err := pgx.ParseConfig("")
	if err != nil {
		t.Fatal(err)
	}
	errDialed := errors.New("dialed")
	cfg.DialFunc = func(context.Context, string, string) (net.Conn, error) { return nil, errDialed }
	keepCommits(cfg)
	link, _ := net.Pipe()
	conn, err := pgconn.Construct(&pgconn.HijackedConn{Conn: link, Config: &cfg.Config, CustomData: map[string]any{}})
	if err := errors.Join(err, cfg.ValidateConnect(t.Context(), conn)); err != nil {
		t.Fatal(err)
	}
	for during, want := range map[bool]error{false: errDialed, true: errCommitting} {
		committingOf(conn).Store(during)
		if err := conn.CancelRequest(t.Context()); !errors.Is(err, want) {
			t.Errorf("during a COMMIT: %v; cancelling: %v, want %v", during, err, want)
		}
	}
}
