package app

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"

	"example.com/orders/internal/adapters/in/jobs"
	testlog "example.com/orders/internal/test/log"
	"example.com/orders/migrations"
)

// newDraining returns an app without jobs, and its log.
func newDraining(t *testing.T) (*App, *testlog.Buffer) {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), "postgres://127.0.0.1:1/none") // connects to nothing
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	runner, err := jobs.New(jobs.Config{Pool: pool, Schema: migrations.RiverSchema, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	log := &testlog.Buffer{}
	return &App{jobs: runner, log: zerolog.New(log)}, log
}

// serveBlocked serves one request until release is closed.
func serveBlocked(t *testing.T, a *App, release <-chan struct{}) *http.Server {
	t.Helper()
	arrived := make(chan struct{})
	public := server(a.counted(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(arrived)
		<-release
	})), zerolog.Nop())
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = public.Serve(ln) }()
	go func() {
		resp, err := http.Get("http://" + ln.Addr().String())
		if err == nil {
			_ = resp.Body.Close()
		}
	}()
	<-arrived
	return public
}

func TestDrain_AsksClientsToConnectElsewhere(t *testing.T) {
	t.Parallel()
	a, _ := newDraining(t)
	public := httptest.NewServer(a.counted(http.NotFoundHandler()))
	defer public.Close()
	for _, draining := range []bool{false, true} {
		a.draining.Store(draining)
		resp, err := public.Client().Get(public.URL)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.Close != draining {
			t.Errorf("draining = %v: the connection ends = %v", draining, resp.Close)
		}
	}
}

// The tests of processes see what is logged when all requests end.
func TestDrain_LogsRequestsThatItCutsOff(t *testing.T) {
	t.Parallel()
	a, log := newDraining(t)
	release := make(chan struct{})
	defer close(release)
	public := serveBlocked(t, a, release)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	if err := a.drain(ctx, public); err == nil {
		t.Error("drain returned no error")
	}

	line := log.Lines(t)[0]
	if line["message"] != "drained" || line["level"] != "warn" || line["requests"] != 1.0 || line["requests_cut_off"] != 1.0 ||
		line["jobs"] != 0.0 || line["jobs_cut_off"] != 0.0 || line["duration_ms"] == nil {
		t.Errorf("the line is %v", line)
	}
}
