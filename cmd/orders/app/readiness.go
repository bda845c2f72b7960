package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/migrations"
)

// readyTimeout bounds how long the readiness check waits for the database.
const readyTimeout = 2 * time.Second

// readyConns bounds the connections of the readiness check. It uses one at a time. But one
// whose server is cut off keeps its place in the pool for 15 s after the check has given it
// up, because the driver still tries to cancel its query.
const readyConns = 8

// readyFor is how long the result of a readiness check is remembered.
const readyFor = time.Second

// readiness remembers the result of a check, because everybody may ask for it: whatever
// the load, it is checked once in readyFor, and those who ask meanwhile wait for it.
type readiness struct {
	check func(context.Context) error
	now   func() time.Time

	mu     sync.Mutex
	result error
	until  time.Time
}

// get returns why the process cannot serve requests, or nil.
func (r *readiness) get(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now().Before(r.until) {
		return r.result
	}
	// The result is for others, too: it must not depend on who asks first.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTimeout)
	defer cancel()
	r.result = r.check(ctx)
	r.until = r.now().Add(readyFor)
	return r.result
}

// ready returns why the process cannot serve requests, or nil.
func (a *App) ready(ctx context.Context) error {
	if a.draining.Load() {
		return errors.New("shutting down")
	}
	if err := a.started(); err != nil {
		return err
	}
	return a.readiness.get(ctx)
}

// checkReadiness asks the database and the verifier of tokens.
func (a *App) checkReadiness(ctx context.Context) error {
	state, err := a.readyDB.State(ctx)
	switch {
	case err != nil:
		return err
	case state.ReadOnly:
		return errors.New("the database accepts no writes: it is a standby, or its transactions are read-only")
	}
	if err := checkSchema(state); err != nil {
		return err
	}
	privileges, err := migrations.CheckPrivileges(ctx, a.readyDB.Pool())
	if err != nil {
		return err
	}
	if err := privileges.Err(a.granted); err != nil {
		return err
	}
	if err := a.readyDB.CheckDurability(ctx); err != nil {
		return err
	}
	return a.tokens.Ready(ctx)
}

// checkSchema returns why this binary cannot work with the schema, or nil. A schema
// that is newer than the binary is no reason: an upgrade migrates first, and a
// migration keeps what the previous binary uses. Nor is a newer migration that runs or has
// failed, which golang-migrate notes as dirty.
func checkSchema(state postgres.State) error {
	newest, err := migrations.Newest()
	switch {
	case err != nil:
		return err
	case state.Dirty && state.SchemaVersion <= newest:
		return fmt.Errorf("schema version %d is dirty, its migration failed: "+
			"repair the database, then run `orders migrate up`", state.SchemaVersion)
	case state.SchemaVersion < newest:
		return fmt.Errorf("schema version %d is older than version %d, which this binary needs: "+
			"run `orders migrate up`", state.SchemaVersion, newest)
	}
	return nil
}
