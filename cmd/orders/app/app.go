// Package app wires the service. Only this package knows both sides: the core's ports
// and the adapters that implement or call them.
package app

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	httpapi "example.com/orders/internal/adapters/in/http"
	"example.com/orders/internal/adapters/in/http/limits"
	"example.com/orders/internal/adapters/in/http/token"
	"example.com/orders/internal/adapters/in/jobs"
	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/adapters/out/stripe"
	"example.com/orders/internal/adapters/out/webhooks"
	"example.com/orders/internal/config"
	"example.com/orders/internal/core/audit"
	"example.com/orders/internal/core/customer"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/core/payment/cards"
	"example.com/orders/internal/core/webhook"
	"example.com/orders/internal/observe"
	"example.com/orders/internal/observe/logqueue"
	"example.com/orders/internal/observe/metrics"
	"example.com/orders/internal/observe/version"
)

// App is the service with adapters connected to ports.
type App struct {
	db        *postgres.DB
	jobDB     *postgres.DB // jobs and webhooks never wait for commands
	webhookDB *postgres.DB // deliveries wait for neither, and delay neither
	readyDB   *postgres.DB // readiness waits for none of them
	tokens    *token.Verifier
	certs     *certificates
	limits    *limits.Limits
	handler   http.Handler
	broker    *broker
	jobs      *jobs.Runner
	courier   *webhook.Courier
	// stopCourier is nil before the start; see startCourier.
	stopCourier func(context.Context)
	metrics     *metrics.Metrics
	traces      *observe.Traces // nil if tracing is off
	readiness   *readiness
	adminHost   string // host in ORDERS_ADMIN_ADDR
	issuer      string
	log         zerolog.Logger
	lines       *logqueue.Queue // nil for a log that does not queue
	draining    atomic.Bool
	inFlight    atomic.Int64            // requests on the public listener
	waiting     atomic.Pointer[waiting] // nil once the database works
	schema      uint                    // schema version then
}

// New wires the service. It fails if the schema is older than the binary. An
// unreachable database is no error: [App.Run] waits for it.
func New(ctx context.Context, cfg config.Config, log zerolog.Logger) (*App, error) {
	a := &App{metrics: metrics.New(log), issuer: cfg.JWTIssuer, log: log}
	a.adminHost, _, _ = net.SplitHostPort(cfg.AdminAddr)
	a.readiness = &readiness{check: a.checkReadiness, now: time.Now}
	if err := a.build(ctx, cfg, log); err != nil {
		a.Close()
		return nil, err
	}
	return a, nil
}

// build opens the databases first, so that it reports a wrong schema before it connects
// to anything else.
func (a *App) build(ctx context.Context, cfg config.Config, log zerolog.Logger) (err error) {
	if a.traces, err = observe.NewTraces(ctx, cfg.OTLPEndpoint, log); err != nil {
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
	gateway, events := newGateway(cfg, a.metrics)
	sender := webhooks.New(cfg.PrivateWebhooks(), time.Now, a.metrics.WebhookAttempted)
	onRequest, inBackground := newUseCases(a.db, gateway, sender, cfg), newUseCases(a.jobDB, gateway, sender, cfg)
	if a.handler, err = httpapi.New(a.httpConfig(onRequest, events, inBackground.payments, cfg, log)); err != nil {
		return err
	}
	if a.broker, err = a.connectBroker(inBackground, cfg); err != nil {
		return err
	}
	a.courier = a.newCourier(sender)
	a.measure()
	a.jobs, err = jobs.New(a.jobsConfig(inBackground, gateway, cfg, log))
	return err
}

// useCases are the core services on one database pool.
type useCases struct {
	orders    *order.Service
	payments  *payment.Service
	customers *customer.Service
	audit     *audit.Service
	webhooks  *webhook.Service
}

func newUseCases(db *postgres.DB, gateway cards.Gateway, sender *webhooks.Sender, cfg config.Config) useCases {
	return useCases{
		orders: &order.Service{
			Store: db.Orders(), ReservationTTL: cfg.ReservationTTL,
			MaxExtensions: cfg.ReservationExtensions, MaxUnpaidOrders: cfg.UnpaidOrders,
		},
		payments:  &payment.Service{Store: db.Payments(), Gateway: gateway},
		customers: &customer.Service{Store: db.Customers()},
		audit:     &audit.Service{Store: db.Audit()},
		webhooks: &webhook.Service{
			Store:      db.Webhooks(),
			EventTypes: slices.Concat(order.EventTypes, payment.EventTypes, webhook.EventTypes),
			CheckURL:   sender.Check,
		},
	}
}

func (a *App) httpConfig(
	core useCases, providerEvents httpapi.Webhooks, appliedBy *payment.Service, cfg config.Config, log zerolog.Logger,
) httpapi.Config {
	api := httpapi.Config{
		Orders:           core.orders,
		Payments:         core.payments,
		Customers:        core.customers,
		Audit:            core.audit,
		Keys:             a.db.Keys(),
		Tokens:           a.tokens,
		Limits:           a.limits,
		Share:            a.db.Places.Share,
		WebhookEndpoints: core.webhooks,
		Webhooks:         providerEvents, ProviderEvents: appliedBy, WebhookEnded: a.metrics.WebhookEnded,
		Observe: a.metrics, TokenRejected: a.metrics.TokenRejected,
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

func (a *App) newLimits(cfg config.Config) *limits.Limits {
	return limits.New(limits.Config{
		RequestsPerMinute: cfg.RequestsPerMinute, KeysPerMinute: cfg.KeysPerMinute, InFlight: cfg.InFlight,
		UnlimitedRoles: cfg.UnlimitedRoles,
		Now:            time.Now, OnExceeded: a.metrics.RequestLimited,
	})
}

// maxKeyAge is how long keys are trusted while the issuer publishes none. A day outlasts an
// outage, and then ends the use of keys that may have been withdrawn meanwhile.
const maxKeyAge = 24 * time.Hour

func newVerifier(ctx context.Context, cfg config.Config, m *metrics.Metrics, log zerolog.Logger) (*token.Verifier, error) {
	return token.NewVerifier(ctx, token.Config{
		Issuer: cfg.JWTIssuer, Audience: cfg.JWTAudience, Clients: cfg.JWTClients, JWKSURL: cfg.JWKSURL,
		RolesClaim: cfg.RolesClaim, Roles: cfg.RoleNames(),
		Types: cfg.JWTTypes, MaxLifetime: cfg.JWTMaxLifetime, MaxKeyAge: maxKeyAge,
		Now: time.Now,
		OnRefreshError: func(err error) {
			m.RefreshFailed()
			log.Warn().Err(err).Msg("jwks refresh failed")
		},
		OnUnusedKey: func(key token.UnusedKey) {
			log.Info().Str("kid", key.KID).Str("cause", key.Cause).Msg("jwks key not used")
		},
	})
}

// Handler returns the public API, for callers with their own server.
func (a *App) Handler() http.Handler { return a.handler }

// Wrap adds middleware to the public API. Call it before [App.Run].
func (a *App) Wrap(wrap func(api http.Handler) http.Handler) { a.handler = wrap(a.handler) }

// CountDropped adds the dropped lines of the queue to the metrics. Call it before [App.Run].
func (a *App) CountDropped(lines *logqueue.Queue) { a.lines = lines }

// Close closes all connections after their current use.
func (a *App) Close() {
	if a.tokens != nil {
		a.tokens.Close()
	}
	if a.limits != nil {
		a.limits.Close()
	}
	a.broker.close()
	for _, db := range []*postgres.DB{a.db, a.jobDB, a.webhookDB, a.readyDB} {
		if db != nil {
			db.Close()
		}
	}
	a.closeTraces()
}

// gatewayTimeout bounds each attempt to call the card provider. A call makes up to six
// attempts, and all fit into a job timeout.
const gatewayTimeout = 4 * time.Second

// newGateway returns the card gateway and the webhook verifier, both nil if cards are
// disabled.
func newGateway(cfg config.Config, m *metrics.Metrics) (cards.Gateway, httpapi.Webhooks) {
	if cfg.StripeKey == "" {
		return nil, nil
	}
	gateway := stripe.New(stripe.Config{
		Key: cfg.StripeKey, URL: cfg.StripeURL, Timeout: gatewayTimeout, Answered: m.ProviderAnswered,
	})
	m.Circuit(gateway.CircuitOpen)
	return gateway, stripe.Webhooks{Secret: cfg.StripeWebhookSecret, Key: cfg.StripeKey, Now: time.Now}
}
