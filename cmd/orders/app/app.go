// Package app puts the service together. It is the only place that knows both sides:
// the ports of the core and the adapters that implement or call them.
package app

import (
	"context"
	"net"
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
	"example.com/orders/internal/version"
)

// App is the service with its adapters connected to its ports.
type App struct {
	db        *postgres.DB
	jobDB     *postgres.DB // separate connections for jobs and webhooks, which wait for no command
	readyDB   *postgres.DB // has connections of its own, so that readiness waits for neither
	tokens    *httpapi.Verifier
	certs     *certificates
	limits    *httpapi.Limits
	handler   http.Handler
	broker    *broker
	jobs      *jobs.Runner
	metrics   *telemetry.Metrics
	traces    *telemetry.Traces // nil where nothing is traced
	readiness *readiness
	granted   string // the role that migrations grant privileges to
	adminHost string // of ORDERS_ADMIN_ADDR
	log       zerolog.Logger
	draining  atomic.Bool
	inFlight  atomic.Int64            // requests of the public listener
	waiting   atomic.Pointer[waiting] // nil once the process works with its database
	schema    uint                    // version of the schema then
}

// New puts the service together. It fails if the schema is older than the binary. If the
// database cannot be reached, the service has none until [App.Run] has reached it.
func New(ctx context.Context, cfg config.Config, log zerolog.Logger) (*App, error) {
	a := &App{metrics: telemetry.New(log), granted: cfg.DatabaseRole, log: log}
	a.adminHost, _, _ = net.SplitHostPort(cfg.AdminAddr)
	a.readiness = &readiness{check: a.checkReadiness, now: time.Now}
	if err := a.build(ctx, cfg, log); err != nil {
		a.Close()
		return nil, err
	}
	return a, nil
}

// build opens the databases first, so that a wrong schema is reported before anything
// else is connected.
func (a *App) build(ctx context.Context, cfg config.Config, log zerolog.Logger) (err error) {
	if a.traces, err = telemetry.NewTraces(ctx, cfg.OTLPEndpoint, log); err != nil {
		return err
	}
	if err = a.openDatabases(ctx, cfg); err != nil {
		return err
	}
	if a.certs, err = newCertificates(cfg, log); err != nil {
		return err
	}
	if a.tokens, err = newVerifier(ctx, cfg, a.metrics, log); err != nil {
		return err
	}
	a.limits = a.newLimits(cfg)
	gateway, webhooks := newGateway(cfg, a.metrics)
	onRequest, inBackground := newUseCases(a.db, gateway, cfg), newUseCases(a.jobDB, gateway, cfg)
	if a.handler, err = httpapi.New(a.httpConfig(onRequest, webhooks, inBackground.payments, cfg, log)); err != nil {
		return err
	}
	if a.broker, err = a.connectBroker(inBackground, cfg); err != nil {
		return err
	}
	a.measure()
	a.jobs, err = jobs.New(a.jobsConfig(inBackground, gateway, cfg, log))
	return err
}

// useCases are the services of the core on one database pool.
type useCases struct {
	orders    *order.Service
	payments  *payment.Service
	customers *customer.Service
	audit     *audit.Service
}

func newUseCases(db *postgres.DB, gateway payment.Gateway, cfg config.Config) useCases {
	return useCases{
		orders: &order.Service{
			Store: db.Orders(), ReservationTTL: cfg.ReservationTTL,
			MaxExtensions: cfg.ReservationExtensions, MaxUnpaidOrders: cfg.UnpaidOrders,
		},
		payments:  &payment.Service{Store: db.Payments(), Gateway: gateway},
		customers: &customer.Service{Store: db.Customers()},
		audit:     &audit.Service{Store: db.Audit()},
	}
}

func (a *App) httpConfig(
	core useCases, webhooks httpapi.Webhooks, events *payment.Service, cfg config.Config, log zerolog.Logger,
) httpapi.Config {
	api := httpapi.Config{
		Orders:    core.orders,
		Payments:  core.payments,
		Customers: core.customers,
		Audit:     core.audit,
		Keys:      a.db.Keys(),
		Tokens:    a.tokens,
		Limits:    a.limits,
		Webhooks:  webhooks, ProviderEvents: events, WebhookEnded: a.metrics.WebhookEnded,
		Observe: a.metrics,
		Started: a.started, Ready: a.ready, Version: version.Number,
		Guard: httpapi.GuardConfig{
			Wait: cfg.IdempotencyWait, TTL: cfg.IdempotencyTTL, RefusalTTL: cfg.IdempotencyErrorTTL,
		},
		CORSOrigins: cfg.CORSOrigins,
		Log:         log,
		Tracer:      a.traces.Tracer(),
	}
	if a.certs.needsClients() {
		api.ClientCertificate = a.certs.admits
	}
	return api
}

func (a *App) newLimits(cfg config.Config) *httpapi.Limits {
	return httpapi.NewLimits(httpapi.LimitsConfig{
		RequestsPerMinute: cfg.RequestsPerMinute, KeysPerMinute: cfg.KeysPerMinute, InFlight: cfg.InFlight,
		UnlimitedRoles: cfg.UnlimitedRoles, Share: a.db.Share(),
		Now: time.Now, OnRefusal: a.metrics.RequestLimited,
	})
}

func newVerifier(ctx context.Context, cfg config.Config, metrics *telemetry.Metrics, log zerolog.Logger) (*httpapi.Verifier, error) {
	return httpapi.NewVerifier(ctx, httpapi.TokenConfig{
		Issuer: cfg.JWTIssuer, Audience: cfg.JWTAudience, JWKSURL: cfg.JWKSURL, RolesClaim: cfg.RolesClaim,
		Types: cfg.JWTTypes, MaxLifetime: cfg.JWTMaxLifetime, MaxKeyAge: cfg.JWKSMaxAge,
		Now: time.Now,
		OnRefreshError: func(err error) {
			metrics.RefreshFailed()
			log.Warn().Err(err).Msg("jwks refresh failed")
		},
	})
}

// Handler returns the public API, for callers that serve it themselves.
func (a *App) Handler() http.Handler { return a.handler }

// Wrap puts a handler before the public API. Call it before [App.Run].
func (a *App) Wrap(wrap func(api http.Handler) http.Handler) { a.handler = wrap(a.handler) }

// Close closes all connections. It waits for those in use.
func (a *App) Close() {
	if a.tokens != nil {
		a.tokens.Close()
	}
	if a.limits != nil {
		a.limits.Close()
	}
	if a.db != nil {
		a.db.Close()
	}
	a.broker.close()
	if a.jobDB != nil {
		a.jobDB.Close()
	}
	if a.readyDB != nil {
		a.readyDB.Close()
	}
	a.closeTraces()
}
