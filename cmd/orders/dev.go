package main

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"flag"
	"io"
	"net"
	"os"
	"path/filepath"
	"text/template"
	"time"

	"example.com/orders/internal/config"
	"example.com/orders/internal/devserver"
	"example.com/orders/internal/devserver/psp"
	"example.com/orders/migrations"
)

// devDir is where dev keeps its database and its signing key; git ignores it.
const devDir = ".orders"

func issuerDir(dir string) string { return filepath.Join(dir, "issuer") }

//go:embed session.txt
var sessionText string

var session = template.Must(template.New("session").Parse(sessionText))

// dev runs everything on this machine: a PostgreSQL cluster, a broker, a token issuer and
// a double of the card provider, and the service as serve runs it. A restart continues where the last run ended.
func dev(ctx context.Context, args, environ []string, out io.Writer) error {
	flags := flag.NewFlagSet("orders dev", flag.ContinueOnError)
	dir := flags.String("dir", devDir, "where the data is kept")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := os.MkdirAll(*dir, 0o755); err != nil { // the database runs as another user when root starts it
		return err
	}
	env, err := startDevServers(ctx, *dir, environ, out)
	if err != nil {
		return err
	}
	runErr := env.serve(ctx, out)
	return errors.Join(runErr, env.stop())
}

// devServers are what the service needs around it.
type devServers struct {
	cfg       config.Config
	listeners listeners
	postgres  *devserver.Postgres
	issuer    *devserver.Issuer
	keys      net.Listener
	provider  *psp.Server
	calls     net.Listener
	broker    *devserver.Broker
}

// startDevServers opens the ports first, for a port in use should not cost the start of
// a database.
func startDevServers(ctx context.Context, dir string, environ []string, out io.Writer) (_ *devServers, err error) {
	d := &devServers{}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.stop())
		}
	}()
	if d.keys, err = listenOn(ctx, "the token issuer's port", "127.0.0.1:0"); err != nil {
		return d, err
	}
	if d.calls, err = listenOn(ctx, "the card provider's port", "127.0.0.1:0"); err != nil {
		return d, err
	}
	if d.cfg, err = config.Read(d.environ(environ)); err != nil {
		return d, err
	}
	if d.listeners, err = listen(ctx, d.cfg); err != nil {
		return d, err
	}
	if d.issuer, err = devserver.NewIssuer(devserver.IssuerConfig{Dir: issuerDir(dir), Algorithm: "ES256"}); err != nil {
		return d, err
	}
	if err = d.startDatabase(ctx, dir, out); err != nil {
		return d, err
	}
	d.broker, err = devserver.StartBroker(ctx, devserver.BrokerConfig{DataDir: filepath.Join(dir, "broker")})
	if err != nil {
		return d, err
	}
	d.cfg.NATSURL = d.broker.URL()
	return d, nil
}

// startDatabase starts the cluster with two databases: ours, and the one of the card
// provider's double, which keeps books of its own.
func (d *devServers) startDatabase(ctx context.Context, dir string, out io.Writer) error {
	var err error
	d.postgres, err = devserver.StartPostgres(ctx, devserver.PostgresConfig{DataDir: filepath.Join(dir, "postgres"), Notices: out})
	if err != nil {
		return err
	}
	for _, name := range []string{"orders", "provider"} {
		if err := d.postgres.EnsureDatabase(ctx, name); err != nil {
			return err
		}
	}
	d.cfg.DatabaseURL = d.postgres.URL("orders")
	if err := migrations.Up(ctx, d.cfg.DatabaseURL); err != nil {
		return err
	}
	d.provider, err = psp.Open(ctx, psp.Config{
		DatabaseURL: d.postgres.URL("provider"), Key: d.cfg.StripeKey, WebhookSecret: d.cfg.StripeWebhookSecret,
		WebhookURL: "http://" + d.listeners.public.Addr().String() + "/webhooks/stripe",
	})
	return err
}

// environ puts what dev brings itself behind the defaults and before what the user set.
func (d *devServers) environ(environ []string) []string {
	brought := []string{
		"ORDERS_JWT_ISSUER=" + devserver.IssuerName,
		"ORDERS_JWT_AUDIENCE=" + devserver.IssuerAudience,
		"ORDERS_JWKS_URL=http://" + d.keys.Addr().String() + devserver.JWKSPath,
		"ORDERS_LOG_FORMAT=console",
	}
	own := []string{
		"ORDERS_DATABASE_URL=postgres:///orders", // replaced once the cluster runs
		"ORDERS_NATS_URL=nats://127.0.0.1",       // and this once the broker does
		"ORDERS_STRIPE_KEY=development", "ORDERS_STRIPE_WEBHOOK_SECRET=" + rand.Text(),
		"ORDERS_STRIPE_URL=http://" + d.calls.Addr().String(),
	}
	return append(append(brought, environ...), own...)
}

// serve runs the service beside its servers, which end after it, and prints what to try.
func (d *devServers) serve(ctx context.Context, out io.Writer) error {
	beside, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	ended := make(chan error, 2)
	go func() { ended <- d.issuer.Serve(beside, d.keys) }()
	go func() { ended <- d.provider.Serve(beside, d.calls) }()
	log := newLog(d.cfg, out)
	a, err := newApp(ctx, d.cfg, log)
	if err != nil {
		return err
	}
	defer a.close()
	if err := a.broker.showEvents(log); err != nil {
		return err
	}
	if err := d.printSession(out); err != nil {
		return err
	}
	err = a.run(ctx, d.listeners, 0)
	stop()
	return errors.Join(err, <-ended, <-ended)
}

// printSession prints commands to paste. Their keys are new each time, so that each run
// makes an order of its own.
func (d *devServers) printSession(out io.Writer) error {
	values := map[string]string{"URL": "http://" + d.listeners.public.Addr().String(), "Run": rand.Text()[:6]}
	for name, role := range map[string]string{"Customer": "customer", "Seller": "seller", "System": "system"} {
		signed, err := d.issuer.Token(map[string]string{
			"Customer": "sber-42", "Seller": "tea-shop", "System": "billing",
		}[name], []string{role}, 24*time.Hour)
		if err != nil {
			return err
		}
		values[name] = signed
	}
	return session.Execute(out, values)
}

// stop ends what was started, in reverse.
func (d *devServers) stop() error {
	for _, ln := range []net.Listener{d.listeners.public, d.listeners.admin, d.keys, d.calls} {
		if ln != nil {
			_ = ln.Close() // most are closed by now
		}
	}
	var err error
	if d.broker != nil {
		err = d.broker.Stop()
	}
	if d.provider != nil {
		d.provider.Close()
	}
	if d.postgres != nil {
		err = errors.Join(err, d.postgres.Stop())
	}
	return err
}
