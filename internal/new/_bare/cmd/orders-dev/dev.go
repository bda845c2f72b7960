package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"

	"example.com/orders/cmd/orders/app"
	"example.com/orders/internal/config"
	devbroker "example.com/orders/internal/dev/broker"
	devissuer "example.com/orders/internal/dev/issuer"
	devpostgres "example.com/orders/internal/dev/postgres"
	"example.com/orders/migrations"
)

const (
	// defaultDir is where orders-dev keeps its database, its streams and its signing key.
	// Git ignores it.
	defaultDir = ".orders"

	ordersDatabase = "orders"
	// serviceRole is the role that the service connects as. The superuser of the cluster
	// owns the database.
	serviceRole = "orders_app"
)

func issuerDir(dir string) string { return filepath.Join(dir, "issuer") }

// servers are what the service needs around it.
type servers struct {
	dir      string
	out      io.Writer
	cfg      config.Config // of the service, with the addresses of these servers
	postgres *devpostgres.Server
	issuer   *devissuer.Issuer
	broker   *devbroker.Broker
	started  bool           // everything runs
	stops    []func() error // what stop calls, last one first
}

// dev starts the servers, runs the service beside them, and stops everything when ctx ends.
// The data stays for the next run.
func dev(ctx context.Context, args, environ []string, out io.Writer) error {
	flags := flag.NewFlagSet("orders-dev", flag.ContinueOnError)
	dir := flags.String("dir", defaultDir, "folder where the data is kept")
	if err := parse(flags, args, "orders-dev help lists commands and flags"); err != nil {
		return err
	}
	s := &servers{dir: *dir, out: out}
	err := s.run(ctx, environ)
	if ctx.Err() != nil && (!s.started || errors.Is(err, context.Canceled)) {
		err = nil // somebody pressed Ctrl-C during the start
	}
	if err = errors.Join(err, s.stop()); err != nil {
		return err
	}
	return printGoodbye(out, *dir)
}

// run opens the ports first, because a port in use is the likeliest problem.
func (s *servers) run(ctx context.Context, environ []string) error {
	keys, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.onStop(func() error { _ = keys.Close(); return nil }) // the issuer may have closed it
	if s.cfg, err = config.Read(serviceEnviron(environ, "http://"+keys.Addr().String()+devissuer.JWKSPath)); err != nil {
		return err
	}
	ln, err := app.Listen(ctx, s.cfg)
	if err != nil {
		return err
	}
	defer ln.Close()
	for _, start := range []func(context.Context) error{s.startPostgres, s.migrate, s.startBroker} {
		if err := start(ctx); err != nil {
			return err
		}
	}
	if s.issuer, err = devissuer.New(devissuer.Config{Dir: issuerDir(s.dir), Algorithm: "ES256"}); err != nil {
		return err
	}
	s.onStop(serveKeys(ctx, s.issuer, keys))
	return s.serve(ctx, ln)
}

// serviceEnviron returns the variables that configure the service: defaults, then what the
// user set, then what must lead to these servers.
func serviceEnviron(environ []string, jwksURL string) []string {
	return slices.Concat(
		[]string{
			"ORDERS_JWT_ISSUER=" + devissuer.Name, "ORDERS_JWT_AUDIENCE=" + devissuer.Audience,
			"ORDERS_JWKS_URL=" + jwksURL, "ORDERS_LOG_FORMAT=console",
		},
		environ,
		// migrate and startBroker replace these.
		[]string{"ORDERS_DATABASE_URL=postgres://127.0.0.1", "ORDERS_NATS_URL=nats://127.0.0.1"},
	)
}

func (s *servers) startPostgres(ctx context.Context) (err error) {
	// If root starts PostgreSQL, it runs as another user, who has to reach the folder.
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return err
	}
	s.postgres, err = devpostgres.Start(ctx, devpostgres.Config{DataDir: filepath.Join(s.dir, "postgres"), Notices: s.out})
	if err != nil {
		return err
	}
	s.onStop(s.postgres.Stop)
	return s.postgres.EnsureDatabase(ctx, ordersDatabase)
}

// migrate migrates the database as its owner, and lets the service use it with its own
// role.
func (s *servers) migrate(ctx context.Context) error {
	owner := s.postgres.URL(ordersDatabase)
	if err := migrations.Up(ctx, owner); err != nil {
		return err
	}
	if err := migrations.Grant(ctx, owner, s.cfg.DatabaseRole); err != nil {
		return err
	}
	s.cfg.DatabaseURL = s.postgres.URLAs(serviceRole, ordersDatabase)
	return devpostgres.EnsureLogin(ctx, owner, serviceRole, s.cfg.DatabaseRole)
}

func (s *servers) startBroker(ctx context.Context) (err error) {
	if s.broker, err = devbroker.Start(ctx, devbroker.Config{DataDir: filepath.Join(s.dir, "broker")}); err != nil {
		return err
	}
	s.onStop(s.broker.Stop)
	s.cfg.NATSURLs = []string{s.broker.URL()}
	return nil
}

// serveKeys serves the keys of the issuer until stop. It does not end with ctx, because the
// service needs them while it stops.
func serveKeys(ctx context.Context, issuer *devissuer.Issuer, ln net.Listener) (stop func() error) {
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- issuer.Serve(serving, ln) }()
	return func() error { cancel(); return <-ended }
}

// serve runs the service and prints commands to try.
func (s *servers) serve(ctx context.Context, ln app.Listeners) error {
	log := app.NewLog(s.cfg, s.out)
	app.SetDefaultLog(log)
	service, err := app.New(ctx, s.cfg, log)
	if err != nil {
		return err
	}
	defer service.Close()
	events, err := logEvents(s.broker.URL(), log)
	if err != nil {
		return err
	}
	defer events.Close()
	if err := printSession(s.out, "http://"+ln.Public.Addr().String(), s.issuer); err != nil {
		return err
	}
	s.started = true
	return service.Run(ctx, ln, 0)
}

func (s *servers) onStop(stop func() error) { s.stops = append(s.stops, stop) }

// stop stops what was started, in reverse order.
func (s *servers) stop() error {
	var errs []error
	for _, stop := range slices.Backward(s.stops) {
		errs = append(errs, stop())
	}
	return errors.Join(errs...)
}
