package faults

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"example.com/orders/internal/test/e2e"
)

// Count returns the number that a query returns. It retries while the database is down.
func (s *System) Count(t testing.TB, query string, args ...any) (n int) {
	t.Helper()
	s.read(t, &n, query, args...)
	return n
}

// read reads the single value that a query returns. It retries while the database is
// down.
func (s *System) read(t testing.TB, value any, query string, args ...any) {
	t.Helper()
	e2e.Eventually(t, "the database answers", func() bool {
		return answered(t, s.DB.QueryRow(t.Context(), query, args...).Scan(value))
	})
}

// Exec executes a repeatable statement. It retries while the database is down.
func (s *System) Exec(t testing.TB, statement string, args ...any) {
	t.Helper()
	e2e.Eventually(t, "the database answers", func() bool {
		_, err := s.DB.Exec(t.Context(), statement, args...)
		return answered(t, err)
	})
}

// answered reports whether a database that may be down has answered. Any other error
// ends the test.
func answered(t testing.TB, err error) bool {
	t.Helper()
	var refused *pgconn.PgError
	if errors.As(err, &refused) && !strings.HasPrefix(refused.Code, "57P") { // admin_shutdown and the like
		t.Fatal(err)
	}
	return err == nil
}
