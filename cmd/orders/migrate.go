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

  up        finish a migration that was interrupted, apply those that are missing, and grant the roles of the service and
            of its operators their privileges
  down      revert one migration
  version   print the schema version

ORDERS_DATABASE_URL names the database. Its role must own the schema.
`

// migrate migrates the schema of ORDERS_DATABASE_URL and prints the version.
func migrate(ctx context.Context, args, environ []string, out io.Writer) error {
	if len(args) != 1 {
		return errors.New("usage: orders migrate up|down|version")
	}
	cfg, err := config.ReadDatabase(environ)
	if err != nil {
		return err
	}
	if cfg.Pooled() {
		return errors.New("a migration holds a lock for as long as its connection, which a pooler does not keep: " +
			"unset ORDERS_DATABASE_POOLER and let ORDERS_DATABASE_URL name the server itself")
	}
	switch args[0] {
	case "up":
		err = up(ctx, cfg, out)
	case "down":
		err = migrations.Down(ctx, cfg.DatabaseURL)
	case "version":
	default:
		err = fmt.Errorf("unknown argument %s: usage: orders migrate up|down|version", quoted(args[0]))
	}
	if err != nil {
		return err
	}
	return printSchemaVersion(cfg.DatabaseURL, out)
}

func up(ctx context.Context, cfg config.Config, out io.Writer) error {
	url := cfg.DatabaseURL
	if err := migrations.Up(ctx, url); err != nil {
		return err
	}
	missing, err := migrations.Grant(ctx, url)
	if err != nil {
		return err
	}
	for _, role := range missing {
		if err := reportMissing(role, out); err != nil {
			return err
		}
	}
	db, err := postgres.Open(ctx, postgres.Config{URL: url, MaxConns: 1}, postgres.Groups{})
	if err != nil {
		return err
	}
	defer db.Close()
	return db.RenewIncarnation(ctx) // renames a restored database, also for running processes
}

// reportMissing says how to create a role that only a superuser can create. The owner can
// run the service meanwhile, and `orders serve` refuses a role that lacks privileges.
func reportMissing(role string, out io.Writer) error {
	_, err := fmt.Fprintf(out, "nothing was granted to %[1]s: this role does not exist, and the role of this command may "+
		"not create it. Execute CREATE ROLE %[1]s NOLOGIN as a superuser, then run `orders migrate up` again\n", role)
	return err
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
		state = ", dirty: its migration was interrupted, run `orders migrate up`"
	}
	_, err = fmt.Fprintf(out, "schema version %d of %d%s\n", version, newest, state)
	return err
}
