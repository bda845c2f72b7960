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
	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/config"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	"example.com/orders/migrations"
)

// readyTimeout bounds what the readiness check waits for the database.
const readyTimeout = 2 * time.Second

// app is the service, put together: the only place that knows both sides.
type app struct {
	db       *postgres.DB
	tokens   *httpapi.Verifier
	handler  http.Handler
	draining atomic.Bool
}

// newApp connects ports and adapters. It refuses a schema that is older than the
// binary.
func newApp(ctx context.Context, cfg config.Config, log zerolog.Logger) (*app, error) {
	db, err := postgres.Open(ctx, postgres.Config{URL: cfg.DatabaseURL})
	if err != nil {
		return nil, err
	}
	a := &app{db: db}
	if err := a.build(ctx, cfg, log); err != nil {
		db.Close()
		return nil, err
	}
	return a, nil
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
	a.handler, err = httpapi.New(httpapi.Config{
		Orders:   &order.Service{Store: a.db.Orders(), HoldFor: cfg.ReservationTTL},
		Payments: &payment.Service{Store: a.db.Payments()},
		Keys:     a.db.Keys(),
		Tokens:   a.tokens,
		Ready:    a.ready,
		Guard: httpapi.GuardConfig{
			Wait: cfg.IdempotencyWait, TTL: cfg.IdempotencyTTL, RefusalTTL: cfg.IdempotencyErrorTTL,
		},
		Log: log,
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
