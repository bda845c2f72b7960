// Package migrations holds the schema as golang-migrate pairs and applies them.
package migrations

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"

	"github.com/golang-migrate/migrate/v4"
	_ "github.com/golang-migrate/migrate/v4/database/pgx/v5" // the scheme pgx5://
	"github.com/golang-migrate/migrate/v4/source/iofs"
)

// FS holds the migrations, so that the binary carries its schema.
//
//go:embed *.sql
var FS embed.FS

// Up brings the schema to the newest version. Several processes may call it at
// once: golang-migrate takes an advisory lock.
func Up(ctx context.Context, databaseURL string) error {
	return run(ctx, databaseURL, (*migrate.Migrate).Up)
}

// Down takes the last migration back, and what it kept with it.
func Down(ctx context.Context, databaseURL string) error {
	return run(ctx, databaseURL, func(m *migrate.Migrate) error { return m.Steps(-1) })
}

// Version gives the schema's version, 0 for an empty database. Dirty means that a
// migration broke off half way and somebody has to look.
func Version(databaseURL string) (version uint, dirty bool, err error) {
	m, err := open(databaseURL)
	if err != nil {
		return 0, false, err
	}
	defer m.Close() //nolint:errcheck // nothing was written
	version, dirty, err = m.Version()
	if errors.Is(err, migrate.ErrNilVersion) {
		err = nil
	}
	return version, dirty, err
}

// Newest is the version that this binary was built for.
func Newest() (uint, error) {
	source, err := iofs.New(FS, ".")
	if err != nil {
		return 0, fmt.Errorf("read migrations: %w", err)
	}
	newest, err := source.First()
	for err == nil {
		var next uint
		if next, err = source.Next(newest); err == nil {
			newest = next
		}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("read migrations: %w", err)
	}
	return newest, nil
}

func run(ctx context.Context, databaseURL string, step func(*migrate.Migrate) error) error {
	m, err := open(databaseURL)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { m.GracefulStop <- true })
	defer stop()
	err = step(m)
	if errors.Is(err, migrate.ErrNoChange) {
		err = nil
	}
	sourceErr, databaseErr := m.Close()
	if err := errors.Join(err, sourceErr, databaseErr); err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	return ctx.Err()
}

func open(databaseURL string) (*migrate.Migrate, error) {
	source, err := iofs.New(FS, ".")
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	u, err := url.Parse(databaseURL)
	if err != nil {
		return nil, errors.New("the database URL cannot be read") // err would show the password
	}
	u.Scheme = "pgx5"
	m, err := migrate.NewWithSourceInstance("iofs", source, u.String())
	if err != nil {
		return nil, fmt.Errorf("open the database for migration: %w", err)
	}
	return m, nil
}
