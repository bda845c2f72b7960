package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/net/netutil"

	"example.com/orders/internal/config"
)

// drainTimeout bounds how long the process waits for accepted requests when it stops.
const drainTimeout = 20 * time.Second

// flushTimeout bounds how long the process waits for the collector of traces when it stops.
const flushTimeout = 3 * time.Second

// Listeners are the open ports of the process.
type Listeners struct{ Public, Admin net.Listener }

// Listen opens both ports of cfg. A process listens before it does anything else, so
// that it reports a port in use first.
func Listen(ctx context.Context, cfg config.Config) (Listeners, error) {
	public, err := listenOn(ctx, "ORDERS_ADDR", cfg.Addr)
	if err != nil {
		return Listeners{}, err
	}
	admin, err := listenOn(ctx, "ORDERS_ADMIN_ADDR", cfg.AdminAddr)
	if err != nil {
		_ = public.Close()
		return Listeners{}, err
	}
	return Listeners{bounded(public, cfg.MaxConnections), admin}, nil
}

func listenOn(ctx context.Context, variable, addr string) (net.Listener, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s (set %s to use another address): %w", addr, variable, err)
	}
	return ln, nil
}

// bounded bounds the connections of a listener; more of them wait until one is closed.
// Zero is no bound.
func bounded(ln net.Listener, connections int) net.Listener {
	if connections == 0 {
		return ln
	}
	return netutil.LimitListener(ln, connections)
}

// Close closes both ports. It may be called twice, and after [App.Run].
func (l Listeners) Close() {
	for _, ln := range []net.Listener{l.Public, l.Admin} {
		if ln != nil {
			_ = ln.Close()
		}
	}
}

// StopSignals returns the signals that stop a process in order: the end of a terminal is no
// reason to drop accepted requests. Under nohup, which ignores SIGHUP, it stays ignored.
func StopSignals() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// Run serves on both listeners until ctx ends or a server fails. It works on jobs and
// events once it has reached the database. When ctx ends, it reports "not ready" for
// drainDelay, so that load balancers stop sending requests. Then it closes the ports and
// waits until every accepted request is answered.
func (a *App) Run(ctx context.Context, ln Listeners, drainDelay time.Duration) error {
	public, admin := server(a.counted(a.handler), a.log), server(a.adminHandler(ln.Admin.Addr()), a.log)
	failed := make(chan error, 3)
	go func() { failed <- a.certs.serve(public, ln.Public) }()
	go func() { failed <- admin.Serve(ln.Admin) }()
	endStart, endEvents := a.work(ctx, failed)
	defer a.closeTraces()
	defer endEvents()
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
		a.draining.Store(true)
		time.Sleep(drainDelay)
	}
	endStart()
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	return errors.Join(err, a.drain(stopping, public), admin.Close())
}

// work starts the jobs, and then relays and consumes events. endStart ends what has not
// started yet, so that jobs can be stopped, and endEvents the rest. Both wait.
func (a *App) work(ctx context.Context, failed chan<- error) (endStart, endEvents func()) {
	starting, stopStarting := context.WithCancel(ctx)
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	started, wait := make(chan struct{}), func() {}
	go func() {
		defer close(started)
		if err := a.startJobs(starting); err != nil {
			failed <- err
		} else if starting.Err() == nil {
			wait = a.broker.start(background)
		}
	}()
	endStart = func() { stopStarting(); <-started }
	return endStart, func() { endStart(); stop(); wait() }
}

// drain waits until every accepted request is answered and every job has ended. When ctx
// ends first, those that are left are cut off. The log has a line of it.
func (a *App) drain(ctx context.Context, public *http.Server) error {
	start, requests, running := time.Now(), a.inFlight.Load(), a.jobs.Running()
	shutdownErr := public.Shutdown(ctx)
	requestsCut := a.inFlight.Load()
	jobsCut, jobsErr := a.jobs.Stop(ctx)
	level := zerolog.InfoLevel
	if requestsCut > 0 || jobsCut > 0 {
		level = zerolog.WarnLevel
	}
	a.log.WithLevel(level).Int64("requests", requests).Int("jobs", running).Dur("duration_ms", time.Since(start)).
		Int64("requests_cut_off", requestsCut).Int("jobs_cut_off", jobsCut).Msg("drained")
	return errors.Join(shutdownErr, jobsErr)
}

// closeTraces sends the last spans, when nothing makes any more.
func (a *App) closeTraces() {
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	a.traces.Close(ctx)
}

// counted counts the requests in flight. While the process drains, each answer asks its
// client to connect elsewhere for the next request: when the port closes, that request
// could arrive on a connection that has just been closed, and get no answer.
func (a *App) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.inFlight.Add(1)
		defer a.inFlight.Add(-1)
		if a.draining.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// server returns a server with the limits that net/http leaves open, so that slow and
// endless requests end. It does not limit the time of a handler: commands have a
// deadline of their own, and a 503 while a command commits would report a failure that
// did not happen.
func server(h http.Handler, log zerolog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ErrorLog:          slog.NewLogLogger(zerolog.NewSlogHandler(log), slog.LevelWarn),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      60 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		// HTTP/2 comes with TLS. The times above bound its requests, but not a client that
		// stops to read what it is sent.
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 100, WriteByteTimeout: 30 * time.Second},
	}
}
