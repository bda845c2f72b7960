package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/migrations"
)

// readyTimeout bounds how long the readiness check waits for the database.
const readyTimeout = 2 * time.Second

// ready returns why the process cannot serve requests, or nil.
func (a *App) ready(ctx context.Context) error {
	if a.draining.Load() {
		return errors.New("shutting down")
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	state, err := a.db.State(ctx)
	switch {
	case err != nil:
		return err
	case state.ReadOnly:
		return errors.New("the database accepts no writes: it is a standby, or its transactions are read-only")
	}
	if err := checkSchema(state); err != nil {
		return err
	}
	return a.tokens.Ready(ctx)
}

// checkSchema returns why this binary cannot work with the schema, or nil. A schema
// that is newer than the binary is no reason: an upgrade migrates first, and a
// migration keeps what the previous binary uses.
func checkSchema(state postgres.State) error {
	newest, err := migrations.Newest()
	switch {
	case err != nil:
		return err
	case state.Dirty:
		return fmt.Errorf("schema version %d is dirty, its migration failed: "+
			"repair the database, then run `orders migrate up`", state.SchemaVersion)
	case state.SchemaVersion < newest:
		return fmt.Errorf("schema version %d is older than version %d, which this binary needs: "+
			"run `orders migrate up`", state.SchemaVersion, newest)
	}
	return nil
}
