package guard_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"example.com/orders/internal/test/e2e"
)

// The second line of defence: unique indexes beside the effects know an operation for
// ever, when its idempotency record is long gone.

// recordEnds are the ways in which a record ends. $1 is its scope.
var recordEnds = map[string]string{
	"expired":    "UPDATE idempotency_record SET expires_at = now() - interval '1 second' WHERE scope = $1",
	"cleaned up": "DELETE FROM idempotency_record WHERE scope = $1",
}

func TestSecondLine_AnswersWhenRecordIsGone(t *testing.T) {
	t.Parallel()
	for name, end := range recordEnds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := e2e.NewEnv(t)
			here, there := env.StartReplica(t), env.StartReplica(t) // there has not seen the record
			for _, route := range e2e.GuardedRoutes() {
				t.Run(route, func(t *testing.T) {
					t.Parallel()
					c := here.Prepare(t, route)
					key := c.NewKey()
					first := c.MustRun(t, key)
					c.Exec(t, end, c.Scope())
					late := there.Send(t, c.WithKey(key))
					wantSameResource(t, c, first, late)
					c.WantEffects(t, 1)
					c.WantReplay(t, late, there.Send(t, c.WithKey(key)))
				})
			}
		})
	}
}

// wantSameResource checks that a late retry got the first response, without a record.
func wantSameResource(t testing.TB, c e2e.Command, first, late e2e.Reply) {
	t.Helper()
	if !late.SameAs(first) || late.Header.Get("Location") != first.Header.Get("Location") {
		t.Errorf("first: %d %s, Location %q\nlate: %d %s, Location %q", first.Status, first.Body,
			first.Header.Get("Location"), late.Status, late.Body, late.Header.Get("Location"))
	}
	c.WantResult(t, late, "reused", "")
}

// The second line does not replace the check of the request: the key still belongs to
// its request, and whoever used it for another one in the meantime has not taken it
// away.
func TestSecondLine_RefusesAnotherRequest(t *testing.T) {
	t.Parallel()
	for name, end := range recordEnds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := e2e.NewEnv(t)
			here, there := env.StartReplica(t), env.StartReplica(t)
			for _, route := range e2e.GuardedRoutes() {
				t.Run(route, func(t *testing.T) {
					t.Parallel()
					c := here.Prepare(t, route)
					if c.OtherBody == "" {
						t.Skip("there is nothing else to ask for")
					}
					key := c.NewKey()
					first := c.MustRun(t, key)
					c.Exec(t, end, c.Scope())
					other := c.WithKey(key).WithBody(c.OtherBody)
					wantKeyReused(t, there, other)
					wantKeyReused(t, there, other)
					c.WantEffects(t, 1)
					wantSameResource(t, c, first, there.Send(t, c.WithKey(key)))
				})
			}
		})
	}
}

// Each command has a database of its own here, so that events can be counted.
func TestSecondLine_PublishesNothing(t *testing.T) {
	t.Parallel()
	for _, route := range e2e.GuardedRoutes() {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			s := e2e.StartShop(t, nil)
			c := s.Prepare(t, route)
			key := c.NewKey()
			first := c.MustRun(t, key)
			events := s.Count(t, "SELECT count(*) FROM outbox")
			s.Exec(t, "DELETE FROM idempotency_record")
			wantSameResource(t, c, first, s.StartReplica(t).Send(t, c.WithKey(key)))
			if c.OtherBody != "" {
				s.Exec(t, "DELETE FROM idempotency_record")
				other := c.WithKey(key).WithBody(c.OtherBody)
				s.StartReplica(t).WantProblem(t, http.StatusConflict, "idempotency_key_reused", other)
			}
			if n := s.Count(t, "SELECT count(*) FROM outbox"); n != events {
				t.Errorf("the late requests published %d events", n-events)
			}
		})
	}
}

// The database has the last word: it accepts no operation twice, whoever writes it.
func TestSecondLine_IsUniqueIndexInEveryTable(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	for _, route := range e2e.GuardedRoutes() {
		s.Prepare(t, route).MustRun(t, s.NewKey())
	}
	for table, unique := range map[string]struct{ columns, change string }{
		"orders":                {"(customer_id, created_by, idempotency_key)", `{"id": 99}`},
		"reservation_extension": {"(order_id, created_by, idempotency_key)", `{}`},
		// A failed payment is not refused by the other index, one live payment for an
		// order.
		"payment":          {"(order_id, idempotency_key)", `{"id": 99, "status": "failed"}`},
		"refund":           {"(payment_id, created_by, idempotency_key)", `{"id": 99}`},
		"stock_adjustment": {"(sku, created_by, idempotency_key)", `{"id": 99}`},
		"ledger_entry":     {"(customer_id, created_by, idempotency_key)", `{"id": 99}`},
	} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			index := uniqueIndex(t, s.Env, table, unique.columns)
			_, err := s.DB.Exec(t.Context(), "INSERT INTO "+table+" OVERRIDING SYSTEM VALUE SELECT (jsonb_populate_record(old, $1)).* "+
				"FROM "+table+" old WHERE idempotency_key IS NOT NULL LIMIT 1", unique.change)
			var violation *pgconn.PgError
			if !errors.As(err, &violation) || violation.Code != "23505" || violation.ConstraintName != index {
				t.Errorf("the same operation twice: %v, want 23505 on %s", err, index)
			}
		})
	}
}

// uniqueIndex returns the name of a table's unique index over columns.
func uniqueIndex(t testing.TB, env *e2e.Env, table, columns string) string {
	t.Helper()
	var name string
	err := env.DB.QueryRow(t.Context(), `SELECT indexname FROM pg_indexes
		WHERE schemaname = 'public' AND tablename = $1 AND indexdef LIKE 'CREATE UNIQUE INDEX % USING btree ' || $2`,
		table, columns).Scan(&name)
	if err != nil {
		t.Fatalf("%s has no unique index over %s: %v", table, columns, err)
	}
	return name
}
