package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/config"
	"example.com/orders/migrations"
)

const migrateUsage = `usage: orders migrate up|down|version

  up        apply the migrations that are missing, and grant the service its privileges
  down      revert one migration
  version   print the schema version

ORDERS_DATABASE_URL names the database. Its role must own the schema.
`

// migrate migrates the schema of ORDERS_DATABASE_URL and prints its version.
func migrate(ctx context.Context, args, environ []string, out io.Writer) error {
	if len(args) != 1 {
		return errors.New("usage: orders migrate up|down|version")
	}
	cfg, err := config.ReadMigration(environ)
	if err != nil {
		return err
	}
	if cfg.Pooled() {
		return errors.New("a migration holds a lock for as long as its connection, which a pooler does not keep: " +
			"unset ORDERS_DATABASE_POOLER and let ORDERS_DATABASE_URL name the server itself")
	}
	if err := step(ctx, args[0], cfg.DatabaseURL, cfg.DatabaseRole, out); err != nil {
		return err
	}
	return printSchemaVersion(cfg.DatabaseURL, out)
}

func step(ctx context.Context, name, url, role string, out io.Writer) error {
	switch name {
	case "up":
		return up(ctx, url, role, out)
	case "down":
		return migrations.Down(ctx, url)
	case "version":
		return nil
	}
	return fmt.Errorf("unknown argument %s: usage: orders migrate up|down|version", quoted(name))
}

func up(ctx context.Context, url, role string, out io.Writer) error {
	if err := migrations.Up(ctx, url); err != nil {
		return err
	}
	if err := grant(ctx, url, role, out); err != nil {
		return err
	}
	return renewIncarnation(ctx, url)
}

// grant grants the service its privileges. If the role is missing and only a superuser
// can create it, grant says so and succeeds: the owner can run the service meanwhile,
// and `orders serve` refuses a role without its privileges.
func grant(ctx context.Context, url, role string, out io.Writer) error {
	err := migrations.Grant(ctx, url, role)
	if !errors.Is(err, migrations.ErrNoRole) {
		return err
	}
	_, err = fmt.Fprintf(out, "nothing was granted to the service: the role %[1]s does not exist, and this role may not "+
		"create it. Execute CREATE ROLE %[1]s NOLOGIN as a superuser, then run `orders migrate up` again\n", role)
	return err
}

// renewIncarnation renames a restored database, also for running processes.
func renewIncarnation(ctx context.Context, url string) error {
	db, err := postgres.Open(ctx, postgres.Config{URL: url, MaxConns: 1})
	if err != nil {
		return err
	}
	defer db.Close()
	return db.RenewIncarnation(ctx)
}

func printSchemaVersion(url string, out io.Writer) error {
	version, dirty, err := migrations.Version(url)
	if err != nil {
		return err
	}
	newest, err := migrations.Newest()
	if err != nil {
		return err
	}
	state := ""
	if dirty {
		state = ", dirty: its migration failed, repair the database"
	}
	_, err = fmt.Fprintf(out, "schema version %d of %d%s\n", version, newest, state)
	return err
}
