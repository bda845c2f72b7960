package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/net/netutil"

	httpapi "example.com/orders/internal/adapters/in/http"
	"example.com/orders/internal/adapters/in/support"
	"example.com/orders/internal/adapters/out/postgres/lookup"
	"example.com/orders/internal/config"
)

// drainTimeout bounds the wait for accepted requests on shutdown.
const drainTimeout = 20 * time.Second

// flushTimeout bounds the wait for the trace collector on shutdown.
const flushTimeout = 3 * time.Second

// MaxConnections is how many connections the public listener keeps open. More wait in the
// system's queue, so that a flood of clients takes neither all memory nor all file
// descriptors.
const MaxConnections = 10_000

// Listeners are the open ports.
type Listeners struct{ Public, Admin net.Listener }

// Listen opens both ports. A process listens first, so that it reports a port in use
// before anything else. The public one accepts maxConnections at once.
func Listen(ctx context.Context, cfg config.Config, maxConnections int) (Listeners, error) {
	public, err := listenOn(ctx, "ORDERS_ADDR", cfg.Addr)
	if err != nil {
		return Listeners{}, err
	}
	admin, err := listenOn(ctx, "ORDERS_ADMIN_ADDR", cfg.AdminAddr)
	if err != nil {
		_ = public.Close()
		return Listeners{}, err
	}
	return Listeners{netutil.LimitListener(public, maxConnections), admin}, nil
}

func listenOn(ctx context.Context, variable, addr string) (net.Listener, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s (set %s to use another address): %w", addr, variable, err)
	}
	return ln, nil
}

// Close closes both ports. It may be called twice, and after [App.Run].
func (l Listeners) Close() {
	for _, ln := range []net.Listener{l.Public, l.Admin} {
		if ln != nil {
			_ = ln.Close()
		}
	}
}

// StopSignals returns the signals for an orderly stop. They include SIGHUP, because
// closing a terminal is no reason to drop accepted requests, unless nohup ignores it.
func StopSignals() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// Run serves on both listeners until ctx ends or a server fails. It runs jobs and
// events once the database works. When ctx ends, it reports "not ready" for drainDelay,
// so that load balancers stop sending requests. Then it closes the ports and waits for
// accepted requests.
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

// work starts the jobs, then the relay, the consumer and the courier. endStart cancels a pending
// start, so that jobs and courier can be stopped; endEvents stops the rest. Both wait.
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
			a.stopCourier = startCourier(a.courier.Run)
		}
	}()
	endStart = func() { stopStarting(); <-started }
	return endStart, func() { endStart(); stop(); wait() }
}

// drain waits for accepted requests, running jobs and attempts of webhooks, and cuts them
// off when ctx ends. It logs the first two.
func (a *App) drain(ctx context.Context, public *http.Server) error {
	start, requests, running := time.Now(), a.inFlight.Load(), a.jobs.Running()
	shutdownErr := public.Shutdown(ctx)
	requestsCut := a.inFlight.Load()
	jobsCut, jobsErr := a.jobs.Stop(ctx)
	if a.stopCourier != nil {
		a.stopCourier(ctx)
	}
	level := zerolog.InfoLevel
	if requestsCut > 0 || jobsCut > 0 {
		level = zerolog.WarnLevel
	}
	a.log.WithLevel(level).Int64("requests", requests).Int("jobs", running).Dur("duration_ms", time.Since(start)).
		Int64("requests_cut_off", requestsCut).Int("jobs_cut_off", jobsCut).Msg("drained")
	return errors.Join(shutdownErr, jobsErr)
}

func (a *App) closeTraces() {
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	a.traces.Close(ctx)
}

// counted counts the requests in flight. During a drain, it asks each client to
// reconnect elsewhere: a later request on this connection could arrive after the port
// has closed and stay unanswered.
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

// idleTimeout is longer than balancers keep idle connections: Google Cloud 600 s, Envoy
// an hour, AWS at most 4000 s. A connection that the service closes first can have a
// request on its way, which stays unanswered.
const idleTimeout = 70 * time.Minute

// server returns a server with the limits that net/http leaves open, so that slow and
// endless requests end. It does not limit handlers: commands have their own deadline,
// and a 503 during a commit would report a failure that did not happen.
func server(h http.Handler, log zerolog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ErrorLog:          slog.NewLogLogger(zerolog.NewSlogHandler(log), slog.LevelWarn),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      60 * time.Second,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    32 << 10,
		// TLS enables HTTP/2. The timeouts above bound the requests, but not a client
		// that stops reading.
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 100, WriteByteTimeout: 30 * time.Second},
	}
}

// adminHandler serves metrics and profiles to operators, and health, which stays
// reachable when the public listener is out of connections and there includes the
// reason.
func (a *App) adminHandler(addr net.Addr) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", a.metrics.Handler())
	mux.Handle("/health/", httpapi.ForOperators(a.handler))
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.Handle("GET /support", a.onlyThisMachine(support.Page(func(ctx context.Context, term string) ([][][]string, error) {
		return lookup.Find(ctx, a.db.DB, a.issuer, term)
	})))
	return httpapi.SecureHeaders(a.onlyLocalNames(addr, mux))
}

// onlyLocalNames refuses requests to a loopback listener that name a foreign host. A page
// whose name resolves to this machine (DNS rebinding) reaches the listener, but its
// name stays in Host. Any other listener is reached by pod addresses and Service names:
// there, the network has to admit operators only.
func (a *App) onlyLocalNames(addr net.Addr, next http.Handler) http.Handler {
	if tcp, ok := addr.(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLocal(r.Host, a.adminHost) {
			http.Error(w, "the admin listener is served to this machine: ask for localhost, "+
				"a loopback address or the host of ORDERS_ADMIN_ADDR", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// onlyThisMachine refuses other clients on any listener, because customers' orders are not for
// all who may read metrics. `kubectl port-forward` connects from the pod itself.
func (a *App) onlyThisMachine(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		client, err := netip.ParseAddrPort(r.RemoteAddr)
		if err != nil || !client.Addr().Unmap().IsLoopback() || !isLocal(r.Host, a.adminHost) {
			http.Error(w, "this page is served to this machine", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isLocal reports whether a Host, with or without a port, is localhost, a loopback
// address or the configured name. Browsers always send a Host.
func isLocal(host, configured string) bool {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	} else if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return false
	}
	addr, err := netip.ParseAddr(name)
	return host == "" || strings.EqualFold(name, "localhost") || strings.EqualFold(name, configured) ||
		(err == nil && addr.Unmap().IsLoopback())
}
