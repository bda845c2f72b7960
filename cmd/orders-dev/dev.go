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
	s, err := startServers(ctx, *dir, environ, out)
	if err != nil {
		return err
	}
	return errors.Join(serve(ctx, s, out), s.stop())
}

// serve runs the service beside its servers and prints commands to try.
func serve(ctx context.Context, s *servers, out io.Writer) error {
	log := app.NewLog(s.cfg, out)
	app.SetDefaultLog(log)
	service, err := app.New(ctx, s.cfg, log)
	if err != nil {
		return err
	}
	defer service.Close()
	playground := s.newPlayground()
	defer func() { _ = playground.Close() }() // its replicas have a log of their own
	faults := newFaults(s)
	defer func() { _ = faults.end(context.WithoutCancel(ctx)) }() // the next run ends those that remain
	service.Wrap(func(api http.Handler) http.Handler { return withPages(api, playground, faults, s.issuer) })
	events, err := logEvents(s.broker.URL(), log)
	if err != nil {
		return err
	}
	defer events.Close()
	if err := printSession(out, s.serviceURL(), s.issuer); err != nil {
		return err
	}
	return service.Run(ctx, s.listeners, 0)
}
