package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"

	httpapi "example.com/orders/internal/adapters/in/http"
	"example.com/orders/internal/adapters/in/jobs"
	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/config"
	"example.com/orders/internal/core/audit"
	"example.com/orders/internal/core/customer"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	"example.com/orders/migrations"
)

// jobConns is how many connections the jobs have.
const jobConns = 4

// readyTimeout bounds what the readiness check waits for the database.
const readyTimeout = 2 * time.Second

// app is the service, put together: the only place that knows both sides.
type app struct {
	db       *postgres.DB
	jobPool  *pgxpool.Pool
	jobs     *jobs.Runner
	tokens   *httpapi.Verifier
	handler  http.Handler
	draining atomic.Bool
}

// newApp connects ports and adapters. It refuses a schema that is older than the
// binary.
func newApp(ctx context.Context, cfg config.Config, log zerolog.Logger) (*app, error) {
	a := &app{}
	var err error
	if a.db, err = postgres.Open(ctx, postgres.Config{URL: cfg.DatabaseURL}); err != nil {
		return nil, err
	}
	if a.jobPool, err = postgres.OpenPool(ctx, postgres.Config{URL: cfg.DatabaseURL, MaxConns: jobConns}); err != nil {
		a.close()
		return nil, err
	}
	if err := a.build(ctx, cfg, log); err != nil {
		a.close()
		return nil, err
	}
	return a, nil
}

// close waits for the connections in use.
func (a *app) close() {
	if a.tokens != nil {
		a.tokens.Close()
	}
	a.db.Close()
	if a.jobPool != nil {
		a.jobPool.Close()
	}
}

func (a *app) build(ctx context.Context, cfg config.Config, log zerolog.Logger) error {
	if err := a.checkSchema(ctx); err != nil {
		return err
	}
	var err error
	a.tokens, err = httpapi.NewVerifier(ctx, httpapi.TokenConfig{
		Issuer: cfg.JWTIssuer, Audience: cfg.JWTAudience, JWKSURL: cfg.JWKSURL, RolesClaim: cfg.RolesClaim,
		Now:            time.Now,
		OnRefreshError: func(err error) { log.Warn().Err(err).Msg("the issuer's keys could not be fetched") },
	})
	if err != nil {
		return err
	}
	orders := &order.Service{Store: a.db.Orders(), HoldFor: cfg.ReservationTTL}
	a.handler, err = httpapi.New(httpapi.Config{
		Orders:    orders,
		Payments:  &payment.Service{Store: a.db.Payments()},
		Customers: &customer.Service{Store: a.db.Customers()},
		Audit:     &audit.Service{Log: a.db},
		Keys:      a.db.Keys(),
		Tokens:    a.tokens,
		Ready:     a.ready,
		Guard: httpapi.GuardConfig{
			Wait: cfg.IdempotencyWait, TTL: cfg.IdempotencyTTL, RefusalTTL: cfg.IdempotencyErrorTTL,
		},
		Log: log,
	})
	if err != nil {
		return err
	}
	a.jobs, err = jobs.New(jobs.Config{
		Pool: a.jobPool, Schema: migrations.RiverSchema, Log: log,
		ReleaseHolds: orders.ReleaseLapsedHolds, CleanKeys: a.db.Keys().DeleteExpired,
	})
	return err
}

// ready tells why the process cannot serve, or nil.
func (a *app) ready(ctx context.Context) error {
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

// checkSchema tells why the database cannot be served from. A schema that is newer
// than the binary will do: upgrades migrate first and keep to what the old one knows.
func (a *app) checkSchema(ctx context.Context) error {
	newest, err := migrations.Newest()
	if err != nil {
		return err
	}
	version, dirty, err := a.db.SchemaVersion(ctx)
	switch {
	case err != nil:
		return err
	case dirty:
		return fmt.Errorf("migration %d broke off half way: look at the database, then run `orders migrate up`", version)
	case version < newest:
		return fmt.Errorf("the schema is at version %d and this binary needs %d: run `orders migrate up`", version, newest)
	}
	return nil
}
