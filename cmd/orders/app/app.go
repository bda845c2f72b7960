// Package app puts the service together. It is the only place that knows both sides: the
// ports of the core and the adapters that implement or call them.
package app

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

// App is the service with its adapters wired to its ports.
type App struct {
	db       *postgres.DB
	jobDB    *postgres.DB // the connections of the jobs, so that traffic never waits for one
	jobs     *jobs.Runner
	broker   *messaging
	metrics  *telemetry.Metrics
	tokens   *httpapi.Verifier
	handler  http.Handler
	draining atomic.Bool
}

// New connects ports and adapters. It refuses a schema that is older than the
// binary.
func New(ctx context.Context, cfg config.Config, log zerolog.Logger) (*App, error) {
	a := &App{metrics: telemetry.New()}
	var err error
	if a.db, err = postgres.Open(ctx, postgres.Config{URL: cfg.DatabaseURL}); err != nil {
		return nil, err
	}
	if a.jobDB, err = postgres.Open(ctx, postgres.Config{URL: cfg.DatabaseURL, MaxConns: jobConns}); err != nil {
		a.Close()
		return nil, err
	}
	if err := a.build(ctx, cfg, log); err != nil {
		a.Close()
		return nil, err
	}
	return a, nil
}

// Close closes all connections, and waits for those in use.
func (a *App) Close() {
	if a.tokens != nil {
		a.tokens.Close()
	}
	a.db.Close()
	a.broker.close()
	if a.jobDB != nil {
		a.jobDB.Close()
	}
}

func (a *App) build(ctx context.Context, cfg config.Config, log zerolog.Logger) error {
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
	orders := &order.Service{Store: a.db.Orders(), ReservationTTL: cfg.ReservationTTL}
	gateway, parseWebhook := connectCards(cfg)
	a.handler, err = httpapi.New(httpapi.Config{
		Orders:    orders,
		Payments:  &payment.Service{Store: a.db.Payments(), Gateway: gateway},
		Customers: &customer.Service{Store: a.db.Customers()},
		Audit:     &audit.Service{Log: a.db},
		Keys:      a.db.Keys(),
		Tokens:    a.tokens,
		Webhook:   parseWebhook,
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
	a.jobs, err = jobs.New(a.work(cfg, gateway, log))
	return err
}

// work is what the jobs do, on connections of their own.
func (a *App) work(cfg config.Config, gateway payment.Gateway, log zerolog.Logger) jobs.Config {
	db, outbox := a.jobDB, a.jobDB.Outbox()
	orders := &order.Service{Store: db.Orders(), ReservationTTL: cfg.ReservationTTL}
	books := &payment.Reconciliation{Store: db, Gateway: gateway, Now: time.Now}
	work := jobs.Config{
		Pool: db.Pool(), Schema: migrations.RiverSchema, Log: log,
		ReleaseReservations: orders.ReleaseExpiredReservations,
		CleanKeys:           db.Keys().DeleteExpired,
		CleanMessages:       db.DeleteOldMessages,
		CleanOutbox: func(ctx context.Context, limit int) (int, error) {
			return outbox.DeletePublished(ctx, keepPublished, limit)
		},
		Reconcile: reconcile(books, a.metrics, log),
	}
	if gateway != nil {
		payments := &payment.Service{Store: db.Payments(), Gateway: gateway}
		work.Settle, work.SettleRefund = payments.SettlePayment, payments.SettleRefund
	}
	return work
}

// Handler returns the public API, for callers that serve it themselves.
func (a *App) Handler() http.Handler { return a.handler }

// ready tells why the process cannot serve, or nil.
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

// checkSchema tells why the database cannot be served from. A schema that is newer
// than the binary will do: upgrades migrate first and keep to what the old one knows.
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
		return fmt.Errorf("migration %d broke off half way: look at the database, then run `orders migrate up`", version)
	case version < newest:
		return fmt.Errorf("the schema is at version %d and this binary needs %d: run `orders migrate up`", version, newest)
	}
	return nil
}

// reconcile returns the job that compares the ledger with itself and with the gateway. It
// logs each mismatch, and sets the gauge that must be 0.
func reconcile(r *payment.Reconciliation, metrics *telemetry.Metrics, log zerolog.Logger) func(context.Context) error {
	return func(ctx context.Context) error {
		differences, err := r.Run(ctx)
		if err != nil {
			return err
		}
		metrics.Reconciled(len(differences))
		for _, d := range differences {
			log.Error().Str("resource", d.Resource).Str("difference", d.Detail).Msg("reconciliation mismatch")
		}
		return nil
	}
}
