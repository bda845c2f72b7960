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

// defaultDir holds the databases, the streams and the signing key. Git ignores it.
const defaultDir = ".orders"

func issuerDir(dir string) string { return filepath.Join(dir, "issuer") }

// dev starts the servers, runs the service like orders serve, and stops everything when
// ctx ends. The data stays for the next run.
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

// run serves until ctx ends. Failures caused by that are no errors: somebody pressed
// Ctrl-C during the start.
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
	s.onStop(func() error { _ = playground.Close(); return nil }) // replicas have a separate log
	faults := newFaults(s)
	s.onStop(func() error { _ = faults.end(context.WithoutCancel(ctx)); return nil }) // the next run ends any remaining faults
	service.Wrap(func(api http.Handler) http.Handler { return withPages(api, playground, faults, s.receiver, s.issuer) })
	events, err := logEvents(s.broker.URL(), log)
	if err != nil {
		return nil, err
	}
	s.onStop(func() error { events.Close(); return nil })
	return service, s.printSession()
}

// printSession prints the addresses, and commands to paste.
func (s *servers) printSession() error {
	return printSession(s.out, places{
		URL: s.serviceURL(), Database: s.postgres.URL(serviceDatabase), Broker: s.broker.URL(),
		Admin: "http://" + s.listeners.Admin.Addr().String(), Requests: filepath.Join(s.dir, "session.http"),
	}, s.issuer)
}
