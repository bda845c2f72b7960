package main

import (
	"context"
	"io"
	"runtime/debug"
	"time"

	"github.com/caarlos0/env/v11"

	"example.com/orders/cmd/orders/app"
	"example.com/orders/internal/config"
)

// drainNotice is how long the process answers "not ready" before it stops listening,
// so that load balancers send requests elsewhere first.
const drainNotice = time.Second

// serve runs the service until ctx ends.
func serve(ctx context.Context, environ []string, out io.Writer) error {
	cfg, err := config.Read(environ)
	if err != nil {
		return err
	}
	tuneMemory(environ)
	log := app.NewLog(cfg, out)
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
	log.Info().Str("addr", cfg.Addr).Str("admin_addr", cfg.AdminAddr).Msg("serving")
	return a.Run(ctx, ln, drainNotice)
}

// tuneMemory lets the heap grow to five times the live data before it is collected. The
// live data is small (remembered records and tokens), the garbage of a request is large:
// collecting less often saves a fifth of the processor for some hundred megabytes. GOGC
// takes precedence.
func tuneMemory(environ []string) {
	if env.ToMap(environ)["GOGC"] == "" {
		debug.SetGCPercent(400)
	}
}
