// Package pgtest creates a database for each test, migrated and empty.
//
// All packages of a test run share one cluster: `make test` starts it and sets
// ORDERS_TEST_POSTGRES_URL. Without that variable, as in `go test ./internal/…`, each
// package starts a cluster when the first test needs a database.
package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	devpostgres "example.com/orders/internal/dev/postgres"
)

// URLVariable is the environment variable with the URL of the shared cluster.
const URLVariable = "ORDERS_TEST_POSTGRES_URL"

// database is the database name on a cluster that serves one test.
const database = "orders"

// startTimeout bounds how long a test waits for its database. The first test may wait
// until PostgreSQL is installed.
const startTimeout = 5 * time.Minute

// unsafeButFast are the settings of the shared cluster. It need not survive a crash, because
// tests that crash a server use NewCluster. Packages run in parallel, each with several
// pools, and need many connections. The log, which each new database fills with 9 MB,
// is in memory like the data.
var unsafeButFast = map[string]string{
	"fsync":              "off",
	"synchronous_commit": "off",
	"full_page_writes":   "off",
	"max_connections":    "400",
	"max_wal_size":       "256MB",
}

// own is the cluster that this process has started, if there is no shared one.
var own struct {
	hasMain atomic.Bool
	start   sync.Once
	server  *devpostgres.Server
	err     error
}

// template returns the migrated database that tests clone.
var template = sync.OnceValues(func() (string, error) {
	server, err := serverURL()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	return ensureTemplate(ctx, server)
})

// Main runs a package's tests and stops the cluster that they have started. A package
// that uses New calls it:
//
//	func TestMain(m *testing.M) { pgtest.Main(m) }
func Main(m *testing.M) {
	own.hasMain.Store(true)
	code := m.Run()
	if own.server != nil {
		if err := own.server.Stop(); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

// ServiceRole is the role that the service connects as, and OperatorRole one of an
// operator. They belong to the groups that the migrations grant privileges to.
const (
	ServiceRole  = "orders_app"
	OperatorRole = "orders_oncall"
)

// AsService returns a database URL for the service role. All other URLs in this
// package are for the owner, a superuser.
func AsService(t testing.TB, databaseURL string) string {
	t.Helper()
	return as(t, ServiceRole, databaseURL)
}

// AsOperator is [AsService] for the operator role.
func AsOperator(t testing.TB, databaseURL string) string {
	t.Helper()
	return as(t, OperatorRole, databaseURL)
}

func as(t testing.TB, role, databaseURL string) string {
	t.Helper()
	u, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(role)
	return u.String()
}

// New returns the URL for a new, migrated database. It is dropped when the test ends.
func New(t testing.TB) string {
	t.Helper()
	source, err := template()
	if err != nil {
		t.Fatal(err)
	}
	return clone(t, source)
}

// Copy returns the URL for a copy of a database from New, as if it had been restored to
// this moment. The original must have no connections. The copy is dropped when the test
// ends.
func Copy(t testing.TB, original string) string {
	t.Helper()
	u, err := url.Parse(original)
	if err != nil {
		t.Fatal(err)
	}
	return clone(t, strings.TrimPrefix(u.Path, "/"))
}

// clone returns the URL for a new database with the contents of source.
func clone(t testing.TB, source string) string {
	t.Helper()
	server, err := serverURL()
	if err != nil {
		t.Fatal(err)
	}
	name := "test_" + strings.ToLower(rand.Text())
	// Copying the files takes half the time that copying through the log takes.
	if err := administer("CREATE DATABASE " + quote(name) + " TEMPLATE " + quote(source) + " STRATEGY file_copy"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := administer("DROP DATABASE " + quote(name) + " WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	return withDatabase(server, name)
}

// NewCluster starts a durable cluster for this test alone, for tests that crash, stop
// or configure the server. settings are parameters in postgresql.conf and may be nil.
func NewCluster(t testing.TB, settings map[string]string) *devpostgres.Server {
	t.Helper()
	return StartCluster(t, devpostgres.Config{Settings: settings, Template: os.Getenv(DataVariable)})
}

// StartCluster is [NewCluster] for tests that choose the data directory or read the
// log. The cluster has no roles and databases yet.
func StartCluster(t testing.TB, cfg devpostgres.Config) *devpostgres.Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	cfg.Notices = os.Stderr
	server, err := devpostgres.Start(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// serverURL returns the URL for the shared cluster's maintenance database. Without a
// shared cluster it starts one.
func serverURL() (string, error) {
	if shared := os.Getenv(URLVariable); shared != "" {
		if u, err := url.Parse(shared); err != nil || u.Scheme == "" {
			return "", errors.New(URLVariable + " must be a URL: postgres://user@host:port/postgres")
		}
		return shared, nil
	}
	if !own.hasMain.Load() {
		return "", errors.New("this package needs: func TestMain(m *testing.M) { pgtest.Main(m) }")
	}
	own.start.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		own.server, own.err = StartShared(ctx)
	})
	if own.err != nil {
		return "", own.err
	}
	return own.server.URL("postgres"), nil
}

// administration keeps connections to the maintenance database, because opening one
// takes as long as a statement.
var administration = sync.OnceValues(func() (*pgxpool.Pool, error) {
	server, err := serverURL()
	if err != nil {
		return nil, err
	}
	return pgxpool.New(context.Background(), server)
})

// administer executes one statement. It does not use the test's context, which has
// ended when the cleanup runs.
func administer(statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	pool, err := administration()
	if err != nil {
		return fmt.Errorf("connect to the test cluster: %w", err)
	}
	if _, err := pool.Exec(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

func withDatabase(server, name string) string {
	u, err := url.Parse(server)
	if err != nil {
		panic("pgtest: " + err.Error()) // serverURL has parsed it
	}
	u.Path = "/" + name
	return u.String()
}
