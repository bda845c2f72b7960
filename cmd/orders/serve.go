package main

import (
	"context"
	"io"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/caarlos0/env/v11"
	"github.com/rs/zerolog"

	"example.com/orders/cmd/orders/app"
	"example.com/orders/internal/config"
	"example.com/orders/internal/observe/logqueue"
)

const serveUsage = `usage: orders serve

Runs the service until SIGINT, SIGTERM or SIGHUP. Variables ORDERS_… configure it: orders
config prints what is in force. The log goes to the standard output; lines that nobody
reads are dropped, and counted in orders_log_lines_dropped_total.
`

// serve runs the service until ctx ends.
func serve(ctx context.Context, _, environ []string, out io.Writer) error {
	cfg, err := config.Read(environ)
	if err != nil {
		return err
	}
	tuneMemory(environ)
	signal.Ignore(syscall.SIGPIPE) // a log reader that is gone ends no request
	return logged(cfg, out, func(log zerolog.Logger, lines *logqueue.Queue) error {
		app.SetDefaultLog(log)
		ln, err := app.Listen(ctx, cfg, app.MaxConnections)
		if err != nil {
			return err
		}
		defer ln.Close()
		a, err := app.New(ctx, cfg, log)
		if err != nil {
			return err
		}
		defer a.Close()
		a.CountDropped(lines)
		a.LogStart(cfg)
		return a.Run(ctx, ln, cfg.DrainDelay)
	})
}

// logged runs the service with a log, and returns after the last lines are written.
func logged(cfg config.Config, out io.Writer, run func(zerolog.Logger, *logqueue.Queue) error) error {
	log, lines := app.NewQueuedLog(cfg, out)
	defer lines.Close(outputTimeout)
	return run(log, lines)
}

// tuneMemory sets the target of the garbage collector to five times the live heap, unless
// GOGC is set. Live data is small (remembered records and tokens) and requests allocate
// much, so this saves a fifth of the CPU time for some hundred megabytes.
func tuneMemory(environ []string) {
	if env.ToMap(environ)["GOGC"] == "" {
		debug.SetGCPercent(400)
	}
}
