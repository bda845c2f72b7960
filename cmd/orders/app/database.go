package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"example.com/orders/internal/adapters/in/jobs"
	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/config"
	"example.com/orders/internal/core"
)

const (
	// attemptTimeout bounds one attempt to begin to work with the database, and
	// attemptPause is the time between two of them.
	attemptTimeout = 10 * time.Second
	attemptPause   = 500 * time.Millisecond
	// remindAfter is how long the log is silent while the process waits for one reason.
	remindAfter = time.Minute
)

// waiting is why the process does not work with its database yet.
type waiting struct {
	cause  error
	logged time.Time
}

// refusal is a reason not to work with a database that does not pass by itself.
type refusal struct{ error }

func (a *App) openDatabases(ctx context.Context, cfg config.Config) (err error) {
	traced := a.traces != nil
	open := func(maxConns int32) (*postgres.DB, error) {
		return postgres.Open(ctx, postgres.Config{
			URL: cfg.DatabaseURL, Pooled: cfg.Pooled(), MaxConns: maxConns, ObserveTransactions: a.metrics, Traced: traced,
		})
	}
	if a.readyDB, err = open(readyConns); err != nil {
		return err
	}
	if err = a.tryDatabase(ctx); err != nil {
		return err
	}
	a.db, err = postgres.Open(ctx, postgres.Config{
		URL: cfg.DatabaseURL, Pooled: cfg.Pooled(), Lanes: cfg.CommandLanes,
		StandbyURL: cfg.StandbyURL, StandbyStaleness: cfg.StandbyStaleness,
		Observe: a.metrics, ObserveTransactions: a.metrics, Traced: traced,
	})
	if err != nil {
		return err
	}
	a.jobDB, err = open(jobConns)
	return err
}

// tryDatabase checks the database once. If it cannot be reached, [App.Run] waits for it.
func (a *App) tryDatabase(ctx context.Context) error {
	return a.begun(ctx, a.checkDatabase(ctx))
}

// startJobs waits for the database and starts the jobs. It returns nil when ctx ends, and
// an error if the process must not work with the database that it has reached.
func (a *App) startJobs(ctx context.Context) error {
	for {
		err := a.begun(ctx, a.tryToStartJobs(ctx))
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the process stops
		}
		if err != nil || a.started() == nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(attemptPause):
		}
	}
}

func (a *App) tryToStartJobs(ctx context.Context) error {
	if a.started() != nil {
		if err := a.checkDatabase(ctx); err != nil {
			return err
		}
		a.log.Info().Uint("schema_version", a.schema).Msg("database reached")
	}
	err := a.jobs.Start(ctx)
	if errors.Is(err, jobs.ErrOutdatedSchema) {
		return refusal{err}
	}
	return err
}

// begun notes how an attempt to begin to work with the database has ended: the process
// works, or it waits. It returns an error if waiting does not help.
func (a *App) begun(ctx context.Context, err error) error {
	if err == nil {
		a.waiting.Store(nil)
		return nil
	}
	if refused, ok := errors.AsType[refusal](err); ok {
		return refused.error
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	before, now := a.waiting.Load(), &waiting{fmt.Errorf("waiting for the database: %w", err), time.Now()}
	if before != nil && before.cause.Error() == now.cause.Error() && now.logged.Sub(before.logged) < remindAfter {
		now.logged = before.logged
	} else {
		a.log.Error().Err(err).Msg("waiting for the database")
	}
	a.waiting.Store(now)
	return nil
}

// started returns why the process does not work with its database yet, or nil.
func (a *App) started() error {
	if w := a.waiting.Load(); w != nil {
		return w.cause
	}
	return nil
}

// checkDatabase returns why the process cannot work with the database, or nil: a [refusal]
// if somebody has to change something and start the process again, any other error if it
// may pass.
func (a *App) checkDatabase(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	if err := a.readyDB.Pool().Ping(ctx); err != nil {
		return explainRefusedLogin(err)
	}
	if err := a.checkRole(ctx); err != nil {
		return err
	}
	state, err := a.readyDB.State(ctx)
	if err != nil {
		return err
	}
	if err := checkSchema(state); err != nil {
		return refusal{err}
	}
	switch err := a.readyDB.CheckDurability(ctx); {
	case errors.Is(err, core.ErrUnavailable):
		return err
	case err != nil:
		return refusal{err}
	}
	a.schema = state.SchemaVersion
	return a.readyDB.RenewIncarnation(ctx)
}

// explainRefusedLogin says which setting a server refuses. It may be the server that is
// wrong, and corrected while the process waits: a role or a database that is created
// later, or a password that is changed.
func explainRefusedLogin(err error) error {
	failed, ok := errors.AsType[*pgconn.PgError](err)
	const invalidAuthorization, noDatabase = "28", "3D000"
	if !ok || (!strings.HasPrefix(failed.Code, invalidAuthorization) && failed.Code != noDatabase) {
		return err
	}
	return fmt.Errorf("the server refuses ORDERS_DATABASE_URL: correct its role, password or database, "+
		"or those of the server: %w", err)
}
