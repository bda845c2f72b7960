package main

import (
	"context"
	"io"
	"runtime/debug"

	"github.com/caarlos0/env/v11"

	"example.com/orders/cmd/orders/app"
	"example.com/orders/internal/config"
)

const serveUsage = `usage: orders serve

Runs the service until SIGINT, SIGTERM or SIGHUP. Variables ORDERS_… configure it: orders
config prints what is in force. The log goes to the standard output.
`

// serve runs the service until ctx ends.
func serve(ctx context.Context, _, environ []string, out io.Writer) error {
	cfg, err := config.Read(environ)
	if err != nil {
		return err
	}
	tuneMemory(environ)
	log := app.NewLog(cfg, out)
	app.SetDefaultLog(log)
	ln, err := app.Listen(ctx, cfg)
	if err != nil {
		return err
	}
	defer ln.Close()
	a, err := app.New(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer a.Close()
	a.LogStart(cfg)
	return a.Run(ctx, ln, cfg.DrainDelay)
}

// tuneMemory sets the garbage collector's target to five times the live heap, unless
// GOGC is set. Live data is small (remembered records and tokens) and requests allocate
// much, so this saves a fifth of the CPU time for some hundred megabytes.
func tuneMemory(environ []string) {
	if env.ToMap(environ)["GOGC"] == "" {
		debug.SetGCPercent(400)
	}
}
