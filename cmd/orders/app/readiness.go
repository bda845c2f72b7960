package app

import (
	"context"
	"errors"
	"fmt"
	"time"

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
	if err := a.checkSchema(ctx); err != nil {
		return err
	}
	return a.tokens.Ready(ctx)
}

// checkSchema returns why this binary cannot work with the schema, or nil. A schema
// that is newer than the binary is no reason: an upgrade migrates first, and a
// migration keeps what the previous binary uses.
func (a *App) checkSchema(ctx context.Context) error {
	newest, err := migrations.Newest()
	if err != nil {
		return err
	}
	version, dirty, err := a.db.SchemaVersion(ctx)
	switch {
	case err != nil:
		return err
	case dirty:
		return fmt.Errorf("schema version %d is dirty, its migration failed: "+
			"repair the database, then run `orders migrate up`", version)
	case version < newest:
		return fmt.Errorf("schema version %d is older than version %d, which this binary needs: "+
			"run `orders migrate up`", version, newest)
	}
	return nil
}
