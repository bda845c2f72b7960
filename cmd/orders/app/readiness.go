package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/core"
	"example.com/orders/migrations"
)

const readyTimeout = 2 * time.Second

// readyConns is the pool size for the readiness check, which uses one connection at a
// time. But a connection to an unreachable server keeps a place in the pool for 15 s
// after the check has timed out, because the driver still tries to cancel the query.
const readyConns = 8

// readyFor is how long a readiness result is cached.
const readyFor = time.Second

// readiness caches a check that anyone may request: at any load, the check runs once
// per readyFor, and concurrent callers wait for it.
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
	// More callers share the result, so it must not depend on the first one.
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

// checkReadiness checks the database and the token verifier.
func (a *App) checkReadiness(ctx context.Context) error {
	state, err := a.examine(ctx)
	switch {
	case err != nil:
		return err
	case state.ReadOnly:
		return errors.New("the database accepts no writes: it is a standby, or its transactions are read-only")
	}
	return a.tokens.Ready(ctx)
}

// examine returns why the process cannot work with the database, or nil: a [fatal] if
// an operator has to act, any other error if it may pass.
func (a *App) examine(ctx context.Context) (postgres.State, error) {
	privileges, err := migrations.CheckPrivileges(ctx, a.readyDB.Pool())
	if err != nil {
		return postgres.State{}, err
	}
	if err := privileges.Err(); err != nil {
		return postgres.State{}, fatal{err}
	}
	state, err := a.readyDB.State(ctx)
	if err != nil {
		return state, err
	}
	if err := checkSchema(state); err != nil {
		return state, fatal{err}
	}
	if err = a.readyDB.CheckDurability(ctx); err != nil && !errors.Is(err, core.ErrUnavailable) {
		err = fatal{err}
	}
	return state, err
}

// checkSchema returns why this binary cannot work with the schema, or nil. A newer
// schema is fine, because upgrades migrate first and migrations keep what the previous
// binary uses. So is a newer migration that is running or has failed, which
// golang-migrate marks as dirty.
func checkSchema(state postgres.State) error {
	newest, err := migrations.Newest()
	switch {
	case err != nil:
		return err
	case state.Dirty && state.SchemaVersion <= newest:
		return fmt.Errorf("schema version %d is dirty, its migration was interrupted: "+
			"run `orders migrate up`", state.SchemaVersion)
	case state.SchemaVersion < newest:
		return fmt.Errorf("schema version %d is older than version %d, which this binary needs: "+
			"run `orders migrate up`", state.SchemaVersion, newest)
	}
	return nil
}
