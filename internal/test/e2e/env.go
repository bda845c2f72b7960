// Package e2e is the fixture for the black-box tests in the packages below it. It
// starts the service as `orders serve` does, with a test database and a test token
// issuer, and checks every response against api/openapi.yaml.
package e2e

import (
	"fmt"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/internal/adapters/out/postgres"
	devissuer "example.com/orders/internal/dev/issuer"
	contracttest "example.com/orders/internal/test/contract"
	pgtest "example.com/orders/internal/test/pg"
)

// Env holds the database, the token issuer and the contract that the replicas of a test
// share.
type Env struct {
	// DatabaseURL connects as the owner. The service connects with the service role.
	DatabaseURL string
	DB          *pgxpool.Pool
	Issuer      *devissuer.Issuer
	JWKSURL     string
	Contract    *contracttest.Validator

	stock   initialStock
	numbers atomic.Int64
}

// NewEnv creates a database and an issuer for one test.
func NewEnv(t testing.TB) *Env {
	t.Helper()
	e := &Env{DatabaseURL: pgtest.New(t), Contract: contracttest.New(t)}
	e.Connect(t)
	var err error
	if e.Issuer, err = devissuer.New(devissuer.Config{Algorithm: "ES256"}); err != nil {
		t.Fatal(err)
	}
	issuer := httptest.NewServer(e.Issuer.Handler())
	t.Cleanup(issuer.Close)
	e.JWKSURL = issuer.URL + devissuer.JWKSPath
	return e
}

// Connect opens the connections of the test. A test calls it after it has moved the
// environment to a different database.
func (e *Env) Connect(t testing.TB) {
	t.Helper()
	var err error
	if e.DB, err = pgxpool.New(t.Context(), e.DatabaseURL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.DB.Close)
}

// OpenStore opens the postgres adapter on the test database.
func (e *Env) OpenStore(t testing.TB) *postgres.DB {
	t.Helper()
	db := e.openStore(t)
	t.Cleanup(db.Close)
	return db
}

// openStore leaves it to the caller to close the connections.
func (e *Env) openStore(t testing.TB) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), postgres.Config{URL: e.ServiceURL(t), MaxConns: 4}, postgres.Groups{})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// ServiceURL returns the database URL of the service.
func (e *Env) ServiceURL(t testing.TB) string {
	t.Helper()
	return pgtest.AsService(t, e.DatabaseURL)
}

// OwnerEnviron returns the environment variables for `orders migrate`.
func (e *Env) OwnerEnviron(t testing.TB) []string {
	t.Helper()
	return e.Environ(t, "ORDERS_DATABASE_URL="+e.DatabaseURL)
}

// Environ returns the environment variables of a replica. Settings, "NAME=value" each, take
// precedence.
func (e *Env) Environ(t testing.TB, settings ...string) []string {
	t.Helper()
	own := []string{
		"ORDERS_DATABASE_URL=" + e.ServiceURL(t), "ORDERS_ADDR=127.0.0.1:0", "ORDERS_ADMIN_ADDR=127.0.0.1:0",
	}
	return slices.Concat(own, e.Settings(), settings)
}

// Settings returns the settings that every replica has, wherever it runs.
func (e *Env) Settings() []string {
	return []string{
		"ORDERS_JWT_ISSUER=" + devissuer.Name,
		"ORDERS_JWT_AUDIENCE=" + devissuer.Audience,
		"ORDERS_JWKS_URL=" + e.JWKSURL,
		// The few principals in a test send as much as many do elsewhere. Tests for the
		// limits override these.
		"ORDERS_REQUESTS_PER_MINUTE=1000000", "ORDERS_IDEMPOTENCY_KEYS_PER_MINUTE=1000000", "ORDERS_IN_FLIGHT=1000000",
	}
}

// DatabaseSetting returns the database setting with one more URL parameter.
func (e *Env) DatabaseSetting(t testing.TB, parameter, value string) string {
	t.Helper()
	return "ORDERS_DATABASE_URL=" + WithParameter(t, e.ServiceURL(t), parameter, value)
}

// WithParameter returns a database URL with one more parameter.
func WithParameter(t testing.TB, databaseURL, parameter, value string) string {
	t.Helper()
	u, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set(parameter, value)
	u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20")
	return u.String()
}

// Token signs a token that is valid for an hour.
func (e *Env) Token(t testing.TB, sub string, roles ...string) string {
	t.Helper()
	signed, err := e.Issuer.Token(sub, roles, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// NewKey returns an Idempotency-Key that this test has not used yet.
func (e *Env) NewKey() string { return e.UniqueName("key") }

// UniqueName returns a name that this test has not used yet.
func (e *Env) UniqueName(prefix string) string {
	return fmt.Sprintf("%s-%d", prefix, e.numbers.Add(1))
}

// Exec changes the database without the service.
func (e *Env) Exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := e.DB.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// Count runs a query that returns one number.
func (e *Env) Count(t testing.TB, query string, args ...any) int {
	t.Helper()
	return scan[int](t, e, query, args)
}

// scan runs a query that returns one value.
func scan[T any](t testing.TB, e *Env, query string, args []any) (value T) {
	t.Helper()
	if err := e.DB.QueryRow(t.Context(), query, args...).Scan(&value); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value
}

// AwaitBlocked waits until n statements in this database wait for a lock.
func (e *Env) AwaitBlocked(t testing.TB, n int) {
	t.Helper()
	Eventually(t, fmt.Sprintf("%d statements wait for a lock", n), func() bool {
		return e.Blocked(t) >= n
	})
}

// Blocked counts the statements in this database that wait for a lock.
func (e *Env) Blocked(t testing.TB) int {
	t.Helper()
	return e.Count(t, `SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND wait_event_type = 'Lock'`)
}
