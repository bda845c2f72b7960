package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"example.com/orders/cmd/orders/app"
	"example.com/orders/internal/config"
	devbroker "example.com/orders/internal/dev/broker"
	"example.com/orders/internal/dev/fakestripe"
	devissuer "example.com/orders/internal/dev/issuer"
	devpostgres "example.com/orders/internal/dev/postgres"
	"example.com/orders/migrations"
)

// The databases in the cluster. The fake card provider has a separate one, and so has
// the playground, which empties it when it starts.
const (
	serviceDatabase = "orders"
	stripeDatabase  = "provider"
	playDatabase    = "playground"
)

// serviceRole is the service database role. The owner, who migrates, is the cluster's
// superuser.
const serviceRole = "orders_app"

// servers surround the service: PostgreSQL, a broker, a token issuer, a fake card
// provider and a receiver of webhooks.
type servers struct {
	dir     string
	environ []string
	out     io.Writer

	cfg       config.Config // the service's, with these servers' addresses
	listeners app.Listeners // the service's
	issuerLn  net.Listener
	stripeLn  net.Listener
	receiver  http.Handler // of the seller's webhooks
	postgres  *devpostgres.Server
	issuer    *devissuer.Issuer
	broker    *devbroker.Broker
	stripe    *fakestripe.Server

	stops []func() error // called by stop, last one first
}

// startServers starts all servers. It opens the ports first, because a port in use is
// the likeliest problem.
func (s *servers) startServers(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		s.openPorts, s.startPostgres, s.migrate, s.seed, s.startStripe, s.startIssuer, s.startBroker,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *servers) openPorts(ctx context.Context) (err error) {
	if s.issuerLn, err = s.listen(ctx); err != nil {
		return err
	}
	if s.stripeLn, err = s.listen(ctx); err != nil {
		return err
	}
	if s.cfg, err = config.Read(s.serviceEnviron()); err != nil {
		return err
	}
	if s.listeners, err = app.Listen(ctx, s.cfg, app.MaxConnections); err != nil {
		return explainPortInUse(ctx, s.cfg.Addr, err)
	}
	s.onStop(func() error { s.listeners.Close(); return nil })
	return nil
}

// listen opens a free port.
func (s *servers) listen(ctx context.Context) (net.Listener, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.onStop(func() error { _ = ln.Close(); return nil }) // the server may have closed it
	return ln, nil
}

// serviceEnviron returns the service variables: defaults, then user settings, then
// the addresses of these servers.
func (s *servers) serviceEnviron() []string {
	defaults := []string{
		"ORDERS_JWT_ISSUER=" + devissuer.Name,
		"ORDERS_JWT_AUDIENCE=" + devissuer.Audience,
		"ORDERS_JWKS_URL=http://" + s.issuerLn.Addr().String() + devissuer.JWKSPath,
		"ORDERS_LOG_FORMAT=console",
		"ORDERS_ALLOW_INSECURE=webhooks", // the receiver is on loopback
	}
	fixed := []string{
		"ORDERS_DATABASE_URL=postgres://127.0.0.1", // migrate replaces it
		"ORDERS_NATS_URL=nats://127.0.0.1",         // startBroker replaces it
		"ORDERS_STRIPE_KEY=development",
		"ORDERS_STRIPE_WEBHOOK_SECRET=" + rand.Text(),
		"ORDERS_STRIPE_URL=http://" + s.stripeLn.Addr().String(),
		"ORDERS_TLS_CERT=", "ORDERS_TLS_KEY=", "ORDERS_TLS_CLIENT_CA=", // the fake sends webhooks to plain HTTP
	}
	return slices.Concat(defaults, s.environ, fixed)
}

func (s *servers) startPostgres(ctx context.Context) (err error) {
	// Under root, PostgreSQL runs as a different user, who has to reach the folder.
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(s.out, "Starting PostgreSQL …")
	s.postgres, err = devpostgres.Start(ctx, devpostgres.Config{
		DataDir: filepath.Join(s.dir, "postgres"), Notices: s.out,
	})
	if err != nil {
		return err
	}
	s.onStop(s.postgres.Stop)
	for _, name := range []string{serviceDatabase, stripeDatabase} {
		if err := s.postgres.EnsureDatabase(ctx, name); err != nil {
			return err
		}
	}
	return s.endFaultsOfKilledRun(ctx)
}

// migrate migrates the database and switches the service to the service role.
func (s *servers) migrate(ctx context.Context) (err error) {
	_, _ = fmt.Fprintln(s.out, "Preparing the database …")
	err = s.prepare(ctx, serviceDatabase)
	s.cfg.DatabaseURL = s.postgres.URLAs(serviceRole, serviceDatabase)
	return err
}

// prepare migrates a database as the owner, and grants the privileges of the service and of
// operators.
func (s *servers) prepare(ctx context.Context, database string) error {
	owner := s.postgres.URL(database)
	if err := migrations.Up(ctx, owner); err != nil {
		return err
	}
	if _, err := migrations.Grant(ctx, owner); err != nil {
		return err
	}
	return devpostgres.EnsureLogin(ctx, owner, serviceRole, migrations.ServiceGroup)
}

// openPlayDatabase recreates the playground database. It returns the URLs for its
// owner and for the service.
func (s *servers) openPlayDatabase(ctx context.Context) (owner, service string, err error) {
	if err := s.postgres.DropDatabase(ctx, playDatabase); err != nil {
		return "", "", err
	}
	if err := s.postgres.EnsureDatabase(ctx, playDatabase); err != nil {
		return "", "", err
	}
	return s.postgres.URL(playDatabase), s.postgres.URLAs(serviceRole, playDatabase), s.prepare(ctx, playDatabase)
}

func (s *servers) startStripe(ctx context.Context) error {
	stripe, err := fakestripe.Open(ctx, fakestripe.Config{
		DatabaseURL:   s.postgres.URL(stripeDatabase),
		Key:           s.cfg.StripeKey,
		WebhookURL:    s.webhookURL(),
		WebhookSecret: s.cfg.StripeWebhookSecret,
	})
	if err != nil {
		return err
	}
	s.stripe = stripe
	s.onStop(func() error { stripe.Close(); return nil })
	s.serve(ctx, stripe.Serve, s.stripeLn)
	return nil
}

func (s *servers) startIssuer(ctx context.Context) (err error) {
	s.issuer, err = devissuer.New(devissuer.Config{Dir: issuerDir(s.dir), Algorithm: "ES256"})
	if err != nil {
		return err
	}
	s.serve(ctx, s.issuer.Serve, s.issuerLn)
	return nil
}

func (s *servers) startBroker(ctx context.Context) (err error) {
	s.broker, err = devbroker.Start(ctx, devbroker.Config{DataDir: filepath.Join(s.dir, "broker")})
	if err != nil {
		return err
	}
	s.onStop(s.broker.Stop)
	s.cfg.NATSURLs = []string{s.broker.URL()}
	return nil
}

// serve serves on a listener until stop. It outlives ctx, because the service needs its
// servers during shutdown.
func (s *servers) serve(ctx context.Context, serve func(context.Context, net.Listener) error, ln net.Listener) {
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- serve(serving, ln) }()
	s.onStop(func() error { cancel(); return <-ended })
}

// serviceURL returns the address of the public API.
func (s *servers) serviceURL() string { return "http://" + s.listeners.Public.Addr().String() }

func (s *servers) webhookURL() string { return s.serviceURL() + "/webhooks/stripe" }

func (s *servers) onStop(stop func() error) { s.stops = append(s.stops, stop) }

// stop stops everything in reverse order.
func (s *servers) stop() error {
	var errs []error
	for _, stop := range slices.Backward(s.stops) {
		errs = append(errs, stop())
	}
	return errors.Join(errs...)
}
