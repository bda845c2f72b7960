package pgtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"

	devpostgres "example.com/orders/internal/dev/postgres"
	"example.com/orders/migrations"
)

// templateLock is the advisory lock that a process holds while it makes the template.
// The number has no meaning.
const templateLock = 7_326_107_211

// ensureTemplate returns the name of a migrated database to clone. It makes the
// database unless it exists. The name contains a hash over migrations and grants, so
// that a cluster that survives a test run never serves an outdated schema.
func ensureTemplate(ctx context.Context, server string) (string, error) {
	hash, err := hashOf(migrations.FS, migrations.Grants())
	if err != nil {
		return "", fmt.Errorf("hash the migrations: %w", err)
	}
	name := "template_" + hash
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return "", fmt.Errorf("connect to the test cluster: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }() // releases the lock
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, templateLock); err != nil {
		return "", fmt.Errorf("lock the template: %w", err)
	}
	var exists bool
	err = conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, name).Scan(&exists)
	if err != nil {
		return "", fmt.Errorf("find the template: %w", err)
	}
	if exists {
		return name, nil
	}
	return name, buildTemplate(ctx, conn, server, name)
}

// buildTemplate migrates a database under another name and renames it, so that a
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

// migrate migrates a database as `orders migrate up` does and creates the service's
// login role.
func migrate(ctx context.Context, url string) error {
	if err := migrations.Up(ctx, url); err != nil {
		return err
	}
	if err := migrations.Grant(ctx, url, serviceGroup); err != nil {
		return err
	}
	return devpostgres.EnsureLogin(ctx, url, ServiceRole, serviceGroup)
}

func hashOf(files fs.FS, grants []string) (string, error) {
	hash := sha256.New()
	_, _ = fmt.Fprintln(hash, grants) // a hash accepts everything
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
