package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"net/http"
	"path/filepath"

	"example.com/orders/cmd/orders/app"
)

// defaultDir is where orders-dev keeps its databases, its streams and its signing key.
// Git ignores it.
const defaultDir = ".orders"

func issuerDir(dir string) string { return filepath.Join(dir, "issuer") }

// dev starts the servers, runs the service as orders serve does, and stops everything
// when ctx ends. The data stays for the next run.
func dev(ctx context.Context, args, environ []string, out io.Writer) error {
	flags := flag.NewFlagSet("orders-dev", flag.ContinueOnError)
	dir := flags.String("dir", defaultDir, "folder where the data is kept")
	if err := parse(flags, args, "orders-dev help lists commands and flags"); err != nil {
		return err
	}
	s := &servers{dir: *dir, environ: environ, out: out}
	err := s.run(ctx)
	if err = errors.Join(err, s.stop()); err != nil {
		return err
	}
	return printGoodbye(out, *dir)
}

// run starts everything and serves until ctx ends. What fails because ctx has ended is no
// error: somebody pressed Ctrl-C during the start.
func (s *servers) run(ctx context.Context) error {
	service, err := s.start(ctx)
	if err != nil && ctx.Err() != nil {
		return nil //nolint:nilerr // see above
	}
	if err != nil {
		return err
	}
	if err := service.Run(ctx, s.listeners, 0); ctx.Err() == nil || !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// start starts the servers and the service, and prints commands to try.
func (s *servers) start(ctx context.Context) (*app.App, error) {
	if err := s.startServers(ctx); err != nil {
		return nil, err
	}
	log := app.NewLog(s.cfg, s.out)
	app.SetDefaultLog(log)
	service, err := app.New(ctx, s.cfg, log)
	if err != nil {
		return nil, err
	}
	s.onStop(func() error { service.Close(); return nil })
	playground := s.newPlayground()
	s.onStop(func() error { _ = playground.Close(); return nil }) // its replicas have a log of their own
	faults := newFaults(s)
	s.onStop(func() error { _ = faults.end(context.WithoutCancel(ctx)); return nil }) // the next run ends those that remain
	service.Wrap(func(api http.Handler) http.Handler { return withPages(api, playground, faults, s.issuer) })
	events, err := logEvents(s.broker.URL(), log)
	if err != nil {
		return nil, err
	}
	s.onStop(func() error { events.Close(); return nil })
	return service, s.printSession()
}

// printSession prints where everything is, and commands to paste.
func (s *servers) printSession() error {
	return printSession(s.out, places{
		URL: s.serviceURL(), Database: s.postgres.URL(ordersDatabase), Broker: s.broker.URL(),
		Admin: "http://" + s.listeners.Admin.Addr().String(),
	}, s.issuer)
}
