package upgrade_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/orders/internal/test/e2e"
	pgtest "example.com/orders/internal/test/pg"
)

// Until the last replica is replaced, the version before runs its queries, with what the role
// of the service may do by then.
func TestQueries_OfTheVersionBeforeRun(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.AsService(t, pgtest.New(t)))
	for name, sql := range releasedQueries(t) {
		if err := explain(t.Context(), conn, sql); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// releasedQueries returns the queries of the version before by name.
func releasedQueries(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(queriesFile)
	if err != nil {
		t.Fatal(err)
	}
	queries := map[string]string{}
	for _, query := range strings.Split("\n\n"+string(text), "\n\n-- name: ")[1:] {
		name, sql, _ := strings.Cut(query, "\n")
		queries[name] = sql
	}
	if len(queries) < 50 {
		t.Fatalf("%s has %d queries", queriesFile, len(queries))
	}
	return queries
}

func TestExplain_NoticesWhatIsGone(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.AsService(t, pgtest.New(t)))
	for sql, want := range map[string]string{
		"SELECT cancelled_at FROM orders WHERE id = $1":                   "42703", // undefined_column
		"DELETE FROM ledger_entry WHERE id = $1":                          "42501", // insufficient_privilege
		"INSERT INTO balance VALUES ($1) ON CONFLICT (amount) DO NOTHING": "42P10", // no unique index
		"SELECT FROM orders WHERE id = $1 AND status = ANY($2::text[])":   "",
	} {
		var code string
		if refused, ok := errors.AsType[*pgconn.PgError](explain(t.Context(), conn, sql)); ok {
			code = refused.Code
		}
		if code != want {
			t.Errorf("%s: %q, want %q", sql, code, want)
		}
	}
}

// explain plans a query, which resolves its names, and begins to execute it, which checks
// its privileges.
func explain(ctx context.Context, conn *pgx.Conn, sql string) error {
	if _, err := conn.Exec(ctx, "PREPARE released AS "+sql); err != nil {
		return err
	}
	defer conn.Exec(ctx, "DEALLOCATE released") //nolint:errcheck // the next PREPARE would fail
	var nulls string
	err := conn.QueryRow(ctx, `SELECT array_to_string(array_fill('NULL'::text, ARRAY[cardinality(parameter_types)]), ', ')
		FROM pg_prepared_statements WHERE name = 'released'`).Scan(&nulls)
	if err != nil {
		return err
	}
	if nulls != "" {
		nulls = "(" + nulls + ")"
	}
	_, err = conn.Exec(ctx, "EXPLAIN EXECUTE released"+nulls)
	return err
}

// A refusal of this version stays for as long as a success, and the version before takes that
// for how long it replays: it runs nothing under a key that is spent here.
func TestSpentKey_RunsNothingInTheVersionBefore(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	refused := s.ChargeCall(t, e2e.Alice, "10.00")
	s.WantProblem(t, http.StatusPaymentRequired, "insufficient_funds", refused)
	s.Exec(t, `UPDATE idempotency_record SET created_at = created_at - interval '71 hours', expires_at = expires_at - interval '71 hours'`)
	s.StartReplica(t).WantProblem(t, http.StatusConflict, "idempotency_key_spent", refused)

	var scope string
	if err := s.DB.QueryRow(t.Context(), "SELECT scope FROM idempotency_record WHERE key = $1", refused.Key).Scan(&scope); err != nil {
		t.Fatal(err)
	}
	rows, _ := s.DB.Query(t.Context(), releasedQueries(t)["FindRecord :many"], scope, refused.Key) // the next line returns the error
	record, err := pgx.CollectExactlyOneRow(rows, pgx.RowToMap)
	if err != nil || record["expired"] != false || record["status"] != int16(http.StatusPaymentRequired) {
		t.Errorf("the version before finds %v, %v; want the refusal, not expired", record, err)
	}
}

// The version before marks a pending refund before it asks the provider to make it. One that
// people made there would be paid twice.
func TestAdoptedRefund_IsNotMadeByTheVersionBefore(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.New(t))
	_, err := conn.Exec(t.Context(), `SET session_replication_role = replica;
		INSERT INTO refund (payment_id, order_id, amount, currency, status, reason, full_refund, external_refund_id, made_at_provider, created_by, created_at)
		VALUES (1, 1, 1, 'RUB', 'pending', '', false, 're_1', true, 'provider', now())`)
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Exec(t.Context(), releasedQueries(t)["UpdateRefund :exec"], "pending", "re_1", time.Now(), 1)
	refused, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || refused.ConstraintName != "refund_made_at_provider_check" {
		t.Errorf("the version before marks the refund: %v", err)
	}
}
