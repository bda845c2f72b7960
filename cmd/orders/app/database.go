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
)

const (
	// attemptTimeout bounds one attempt to reach the database, and attemptPause
	// separates attempts.
	attemptTimeout = 10 * time.Second
	attemptPause   = 500 * time.Millisecond
	// remindAfter is the pause between log lines while the cause stays the same.
	remindAfter = time.Minute
)

// waiting explains why the database does not work yet.
type waiting struct {
	cause  error
	logged time.Time
}

// fatal is a reason to stop instead of waiting for the database.
type fatal struct{ error }

func (a *App) openDatabases(ctx context.Context, cfg config.Config) (err error) {
	open := func(maxConns int32) (*postgres.DB, error) {
		return postgres.Open(ctx, postgres.Config{
			URL: cfg.DatabaseURL, Pooled: cfg.Pooled(), MaxConns: maxConns, Observe: a.metrics,
		}, postgres.Groups{})
	}
	if a.readyDB, err = open(readyConns); err != nil {
		return err
	}
	// If the database is unreachable, Run waits for it.
	if err = a.begun(ctx, a.checkDatabase(ctx)); err != nil {
		return err
	}
	a.db, err = postgres.Open(ctx, postgres.Config{
		URL: cfg.DatabaseURL, Pooled: cfg.Pooled(), Observe: a.metrics,
	}, postgres.Groups{Lanes: cfg.CommandLanes, Observe: a.metrics})
	if err != nil {
		return err
	}
	if a.jobDB, err = open(jobConns); err != nil {
		return err
	}
	a.webhookDB, err = open(webhookConns)
	return err
}

// startJobs waits for the database and starts the jobs. It returns nil when ctx ends,
// and an error if the process must not work with this database.
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
		return fatal{err}
	}
	return explainStandby(err)
}

// begun records the outcome of an attempt to reach the database: the process works, or
// it waits. It returns an error if waiting is useless.
func (a *App) begun(ctx context.Context, err error) error {
	if err == nil {
		a.waiting.Store(nil)
		return nil
	}
	if refused, ok := errors.AsType[fatal](err); ok {
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

// started returns why the database does not work yet, or nil.
func (a *App) started() error {
	if w := a.waiting.Load(); w != nil {
		return w.cause
	}
	return nil
}

// checkDatabase is [App.examine] for the start.
func (a *App) checkDatabase(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	if err := a.readyDB.Pool().Ping(ctx); err != nil {
		return explainRefusedLogin(err)
	}
	state, err := a.examine(ctx)
	if err != nil {
		return err
	}
	a.schema = state.SchemaVersion
	return a.readyDB.RenewIncarnation(ctx)
}

// explainStandby names the setting that leads to a standby, where jobs cannot listen. It
// may be promoted while the process waits.
func explainStandby(err error) error {
	const readOnlyTransaction = "25006"
	if failed, ok := errors.AsType[*pgconn.PgError](err); !ok || failed.Code != readOnlyTransaction {
		return err
	}
	return fmt.Errorf("ORDERS_DATABASE_URL leads to a standby: name the primary, or all servers: %w", err)
}

// explainRefusedLogin names the setting that the server or a pooler refuses. The fault
// may also be the server's and be corrected while the process waits, such as a missing
// role or database, or a changed password.
func explainRefusedLogin(err error) error {
	if strings.Contains(err.Error(), "unsupported startup parameter") { // pgbouncer
		return fmt.Errorf("ORDERS_DATABASE_URL leads to a pooler: set ORDERS_DATABASE_POOLER=transaction: %w", err)
	}
	failed, ok := errors.AsType[*pgconn.PgError](err)
	const invalidAuthorization, noDatabase = "28", "3D000"
	if !ok || (!strings.HasPrefix(failed.Code, invalidAuthorization) && failed.Code != noDatabase) {
		return err
	}
	return fmt.Errorf("the server refuses ORDERS_DATABASE_URL: correct its role, password or database, "+
		"or those of the server: %w", err)
}
