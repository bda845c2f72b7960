package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	httpapi "example.com/orders/internal/adapters/in/http"
	"example.com/orders/internal/adapters/in/jobs"
	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/config"
	"example.com/orders/internal/core/audit"
	"example.com/orders/internal/core/customer"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/telemetry"
	"example.com/orders/migrations"
)

// jobConns is how many connections the jobs have.
const jobConns = 4

// keepPublished is how long events can be looked at after they have left.
const keepPublished = 24 * time.Hour

// readyTimeout bounds what the readiness check waits for the database.
const readyTimeout = 2 * time.Second

// app is the service, put together: the only place that knows both sides.
type app struct {
	db       *postgres.DB
	jobDB    *postgres.DB // the connections of the jobs, so that traffic never waits for one
	jobs     *jobs.Runner
	broker   *messaging
	metrics  *telemetry.Metrics
	tokens   *httpapi.Verifier
	handler  http.Handler
	draining atomic.Bool
}

// newApp connects ports and adapters. It refuses a schema that is older than the
// binary.
func newApp(ctx context.Context, cfg config.Config, log zerolog.Logger) (*app, error) {
	a := &app{metrics: telemetry.New()}
	var err error
	if a.db, err = postgres.Open(ctx, postgres.Config{URL: cfg.DatabaseURL}); err != nil {
		return nil, err
	}
	if a.jobDB, err = postgres.Open(ctx, postgres.Config{URL: cfg.DatabaseURL, MaxConns: jobConns}); err != nil {
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
	a.broker.close()
	if a.jobDB != nil {
		a.jobDB.Close()
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
	provider := connectCards(cfg)
	payments := &payment.Service{Store: a.db.Payments(), Gateway: provider.gateway}
	a.handler, err = httpapi.New(httpapi.Config{
		Orders:    orders,
		Payments:  payments,
		Customers: &customer.Service{Store: a.db.Customers()},
		Audit:     &audit.Service{Log: a.db},
		Keys:      a.db.Keys(),
		Tokens:    a.tokens,
		Webhook:   provider.webhook,
		Ready:     a.ready,
		Guard: httpapi.GuardConfig{
			Wait: cfg.IdempotencyWait, TTL: cfg.IdempotencyTTL, RefusalTTL: cfg.IdempotencyErrorTTL,
		},
		Log: log,
	})
	if err != nil {
		return err
	}
	if a.broker, err = connectBroker(cfg, a.jobDB, log); err != nil {
		return err
	}
	a.metrics.Outbox(a.jobDB.Outbox().Backlog)
	a.jobs, err = jobs.New(a.work(cfg, provider, log))
	return err
}

// work is what the jobs do, on connections of their own.
func (a *app) work(cfg config.Config, provider cards, log zerolog.Logger) jobs.Config {
	db, outbox := a.jobDB, a.jobDB.Outbox()
	orders := &order.Service{Store: db.Orders(), HoldFor: cfg.ReservationTTL}
	books := &payment.Reconciliation{Books: db, Statement: provider.statement, Now: time.Now}
	work := jobs.Config{
		Pool: db.Pool(), Schema: migrations.RiverSchema, Log: log,
		ReleaseHolds:  orders.ReleaseLapsedHolds,
		CleanKeys:     db.Keys().DeleteExpired,
		CleanMessages: db.DeleteOldMessages,
		CleanOutbox: func(ctx context.Context, limit int) (int, error) {
			return outbox.DeletePublished(ctx, keepPublished, limit)
		},
		Reconcile: reconcile(books, a.metrics, log),
	}
	if provider.gateway != nil {
		payments := &payment.Service{Store: db.Payments(), Gateway: provider.gateway}
		work.Settle, work.SettleRefund = payments.SettlePayment, payments.SettleRefund
	}
	return work
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
