package main

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"text/template"
	"time"

	"example.com/orders/internal/config"
	"example.com/orders/internal/devserver"
	"example.com/orders/migrations"
)

// devDir is where dev keeps its database and its signing key; git ignores it.
const devDir = ".orders"

func issuerDir(dir string) string { return filepath.Join(dir, "issuer") }

//go:embed session.txt
var sessionText string

var session = template.Must(template.New("session").Parse(sessionText))

// dev runs everything on this machine: a PostgreSQL cluster and a token issuer of its
// own, and the service as serve runs it. A restart continues where the last run ended.
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
	if d.cfg, err = config.Read(d.environ(environ)); err != nil {
		return d, err
	}
	if d.listeners, err = listen(ctx, d.cfg); err != nil {
		return d, err
	}
	if d.issuer, err = devserver.NewIssuer(devserver.IssuerConfig{Dir: issuerDir(dir), Algorithm: "ES256"}); err != nil {
		return d, err
	}
	d.postgres, err = devserver.StartPostgres(ctx, devserver.PostgresConfig{DataDir: filepath.Join(dir, "postgres"), Notices: out})
	if err != nil {
		return d, err
	}
	if err = d.postgres.EnsureDatabase(ctx, "orders"); err != nil {
		return d, err
	}
	d.cfg.DatabaseURL = d.postgres.URL("orders")
	return d, migrations.Up(ctx, d.cfg.DatabaseURL)
}

// environ puts what dev brings itself behind the defaults and before what the user set.
func (d *devServers) environ(environ []string) []string {
	brought := []string{
		"ORDERS_JWT_ISSUER=" + devserver.IssuerName,
		"ORDERS_JWT_AUDIENCE=" + devserver.IssuerAudience,
		"ORDERS_JWKS_URL=http://" + d.keys.Addr().String() + devserver.JWKSPath,
		"ORDERS_LOG_FORMAT=console",
	}
	own := []string{"ORDERS_DATABASE_URL=postgres:///orders"} // replaced once the cluster runs
	return append(append(brought, environ...), own...)
}

// serve runs the service and prints what to try.
func (d *devServers) serve(ctx context.Context, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	keysServed := make(chan error, 1)
	go func() { keysServed <- d.issuer.Serve(ctx, d.keys) }()
	a, err := newApp(ctx, d.cfg, newLog(d.cfg, out))
	if err != nil {
		return err
	}
	defer a.close()
	if err := d.printSession(out); err != nil {
		return err
	}
	err = a.run(ctx, d.listeners, 0)
	cancel()
	return errors.Join(err, <-keysServed)
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
	if d.listeners.public != nil {
		d.listeners.close()
	}
	if d.keys != nil {
		_ = d.keys.Close()
	}
	if d.postgres == nil {
		return nil
	}
	if err := d.postgres.Stop(); err != nil {
		return fmt.Errorf("stop PostgreSQL: %w", err)
	}
	return nil
}
