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

	"example.com/orders/cmd/orders/app"
	"example.com/orders/internal/config"
	devbroker "example.com/orders/internal/dev/broker"
	"example.com/orders/internal/dev/fakestripe"
	devissuer "example.com/orders/internal/dev/issuer"
	devpostgres "example.com/orders/internal/dev/postgres"
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
	flags := flag.NewFlagSet("orders-dev", flag.ContinueOnError)
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
	listeners app.Listeners
	postgres  *devpostgres.Server
	issuer    *devissuer.Issuer
	keys      net.Listener
	provider  *fakestripe.Server
	calls     net.Listener
	broker    *devbroker.Broker
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
	if d.keys, err = listenOnLoopback(ctx); err != nil {
		return d, err
	}
	if d.calls, err = listenOnLoopback(ctx); err != nil {
		return d, err
	}
	if d.cfg, err = config.Read(d.environ(environ)); err != nil {
		return d, err
	}
	if d.listeners, err = app.Listen(ctx, d.cfg); err != nil {
		return d, err
	}
	if d.issuer, err = devissuer.New(devissuer.Config{Dir: issuerDir(dir), Algorithm: "ES256"}); err != nil {
		return d, err
	}
	if err = d.startDatabase(ctx, dir, out); err != nil {
		return d, err
	}
	d.broker, err = devbroker.Start(ctx, devbroker.Config{DataDir: filepath.Join(dir, "broker")})
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
	d.postgres, err = devpostgres.Start(ctx, devpostgres.Config{DataDir: filepath.Join(dir, "postgres"), Notices: out})
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
	d.provider, err = fakestripe.Open(ctx, fakestripe.Config{
		DatabaseURL: d.postgres.URL("provider"), Key: d.cfg.StripeKey, WebhookSecret: d.cfg.StripeWebhookSecret,
		WebhookURL: "http://" + d.listeners.Public.Addr().String() + "/webhooks/stripe",
	})
	return err
}

// environ puts what dev brings itself behind the defaults and before what the user set.
func (d *devServers) environ(environ []string) []string {
	brought := []string{
		"ORDERS_JWT_ISSUER=" + devissuer.Name,
		"ORDERS_JWT_AUDIENCE=" + devissuer.Audience,
		"ORDERS_JWKS_URL=http://" + d.keys.Addr().String() + devissuer.JWKSPath,
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
	log := app.NewLog(d.cfg, out)
	a, err := app.New(ctx, d.cfg, log)
	if err != nil {
		return err
	}
	defer a.Close()
	events, err := showEvents(d.broker.URL(), log)
	if err != nil {
		return err
	}
	defer events.Close()
	if err := d.printSession(out); err != nil {
		return err
	}
	err = a.Run(ctx, d.listeners, 0)
	stop()
	return errors.Join(err, <-ended, <-ended)
}

// listenOnLoopback opens a port that the system chooses.
func listenOnLoopback(ctx context.Context) (net.Listener, error) {
	return new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
}

// printSession prints commands to paste. Their keys are new each time, so that each run
// makes an order of its own.
func (d *devServers) printSession(out io.Writer) error {
	values := map[string]string{"URL": "http://" + d.listeners.Public.Addr().String(), "Run": rand.Text()[:6]}
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
	for _, ln := range []net.Listener{d.listeners.Public, d.listeners.Admin, d.keys, d.calls} {
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
