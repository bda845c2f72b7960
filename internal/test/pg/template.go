package pgtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	devpostgres "example.com/orders/internal/dev/postgres"
	"example.com/orders/migrations"
)

// DataVariable is the environment variable with the data directory of a stopped cluster
// that contains the template. NewCluster and NewReplicated copy it instead of running initdb
// and the migrations.
const DataVariable = "ORDERS_TEST_POSTGRES_DATA"

// StartShared starts a cluster for a whole test run.
func StartShared(ctx context.Context) (*devpostgres.Server, error) {
	return devpostgres.Start(ctx, devpostgres.Config{Settings: maps.Clone(unsafeButFast), Notices: os.Stderr})
}

// CopyShared makes the template of a new shared cluster and copies the cluster. It returns
// the data directory of the copy, which goes with that of the cluster.
func CopyShared(ctx context.Context, shared *devpostgres.Server) (dir string, err error) {
	if _, err := ensureTemplate(ctx, shared.URL("postgres")); err != nil {
		return "", err
	}
	dir = shared.DataDir() + "-copy"
	if err := backUp(ctx, shared, dir); err != nil {
		return "", err
	}
	// A server that starts on a backup recovers. Here it does so once for all copies.
	recovered, err := devpostgres.Start(ctx, devpostgres.Config{DataDir: dir, Settings: maps.Clone(unsafeButFast)})
	if err != nil {
		return "", err
	}
	return dir, recovered.Stop()
}

// backUp copies the data directory of a running server.
func backUp(ctx context.Context, server *devpostgres.Server, dir string, options ...string) error {
	backup := server.Command(ctx, "pg_basebackup", append(options, "--pgdata="+dir, "--dbname="+server.URL("postgres"),
		"--checkpoint=fast", "--no-sync")...)
	if out, err := backup.CombinedOutput(); err != nil {
		return fmt.Errorf("pg_basebackup: %w: %s", err, out)
	}
	return nil
}

// NewOn returns the URL for a migrated database on a cluster from NewCluster or
// StartCluster.
func NewOn(t testing.TB, server *devpostgres.Server) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), server.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }() // every statement has committed by itself
	name, exists, err := findTemplate(t.Context(), conn)
	if err == nil && exists {
		_, err = conn.Exec(t.Context(), "CREATE DATABASE "+quote(database)+" TEMPLATE "+quote(name))
	} else if err == nil {
		err = errors.Join(server.EnsureDatabase(t.Context(), database), migrate(t.Context(), server.URL(database)))
	}
	if err != nil {
		t.Fatal(err)
	}
	return server.URL(database)
}

// templateLock is the advisory lock that a process holds while it makes the template.
// The number has no meaning.
const templateLock = 7_326_107_211

// ensureTemplate returns the name of a migrated database to clone. It makes the
// database unless it exists.
func ensureTemplate(ctx context.Context, server string) (string, error) {
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return "", fmt.Errorf("connect to the test cluster: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }() // releases the lock
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, templateLock); err != nil {
		return "", fmt.Errorf("lock the template: %w", err)
	}
	name, exists, err := findTemplate(ctx, conn)
	if err != nil || exists {
		return name, err
	}
	return name, buildTemplate(ctx, conn, server, name)
}

// findTemplate returns the template's name and whether the server has it. The name
// contains a hash over migrations and grants, so that a cluster that survives a test run
// never serves an outdated schema.
func findTemplate(ctx context.Context, conn *pgx.Conn) (name string, exists bool, err error) {
	hash, err := hashOf(migrations.FS)
	if err != nil {
		return "", false, fmt.Errorf("hash the migrations: %w", err)
	}
	name = "template_" + hash
	err = conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, name).Scan(&exists)
	if err != nil {
		return "", false, fmt.Errorf("find the template: %w", err)
	}
	return name, exists, nil
}

// buildTemplate migrates a database under a temporary name and renames it, so that a
// template is always complete.
func buildTemplate(ctx context.Context, conn *pgx.Conn, server, name string) error {
	building := name + "_building"
	for _, statement := range []string{
		"DROP DATABASE IF EXISTS " + quote(building) + " WITH (FORCE)",
		"CREATE DATABASE " + quote(building),
	} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("build the template: %w", err)
		}
	}
	if err := migrate(ctx, withDatabase(server, building)); err != nil {
		return fmt.Errorf("migrate the template: %w", err)
	}
	if _, err := conn.Exec(ctx, "ALTER DATABASE "+quote(building)+" RENAME TO "+quote(name)); err != nil {
		return fmt.Errorf("finish the template: %w", err)
	}
	return nil
}

// migrate migrates a database as `orders migrate up` does and creates the login roles of
// the service and an operator.
func migrate(ctx context.Context, databaseURL string) error {
	if err := migrations.Up(ctx, databaseURL); err != nil {
		return err
	}
	if _, err := migrations.Grant(ctx, databaseURL); err != nil {
		return err
	}
	return errors.Join(devpostgres.EnsureLogin(ctx, databaseURL, ServiceRole, migrations.ServiceGroup),
		devpostgres.EnsureLogin(ctx, databaseURL, OperatorRole, migrations.OperatorGroup))
}

func hashOf(files fs.FS) (string, error) {
	hash := sha256.New()
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(hash, "%s %d\n%s", path, len(text), text)
		return err
	})
	return hex.EncodeToString(hash.Sum(nil)[:8]), err
}
