package app

import (
	"context"
	"errors"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"example.com/orders/internal/config"
	devissuer "example.com/orders/internal/dev/issuer"
	pgtest "example.com/orders/internal/test/pg"
)

func TestReadiness_IsCheckedOnceASecondWhateverTheLoad(t *testing.T) {
	t.Parallel()
	var checks int
	now := time.Now()
	down := errors.New("the database is down")
	r := &readiness{now: func() time.Time { return now }, check: func(context.Context) error { checks++; return down }}
	askers := func() {
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				if err := r.get(t.Context()); !errors.Is(err, down) {
					t.Errorf("got %v, want %v", err, down)
				}
			})
		}
		all.Wait()
	}
	for second := 1; second <= 3; second++ {
		askers()
		now = now.Add(readyFor - 1)
		askers()
		if checks != second {
			t.Errorf("%d checks in %d seconds", checks, second)
		}
		now = now.Add(1)
	}
}

func TestReadiness_DoesNotDependOnWhoAsks(t *testing.T) {
	t.Parallel()
	r := &readiness{now: time.Now, check: func(ctx context.Context) error { return ctx.Err() }}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if err := r.get(gone); err != nil {
		t.Errorf("one who hangs up makes the process unready: %v", err)
	}
}

func TestReady_ReportsDrainingAtOnce(t *testing.T) {
	t.Parallel()
	a := &App{readiness: &readiness{now: time.Now, check: func(context.Context) error { return nil }}}
	if err := a.ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.draining.Store(true)
	if err := a.ready(t.Context()); err == nil {
		t.Error("a process that is shutting down is ready")
	}
}

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestReadiness_ReturnsSoonAfterTheDatabaseWasCutOff(t *testing.T) {
	t.Parallel()
	issuer, err := devissuer.New(devissuer.Config{Algorithm: "ES256"})
	if err != nil {
		t.Fatal(err)
	}
	keys := httptest.NewServer(issuer.Handler())
	defer keys.Close()
	network, service := pgtest.NewEndpoint(t), pgtest.AsService(t, pgtest.New(t))
	network.LeadTo(t, service)
	cfg, err := config.Read([]string{
		"ORDERS_DATABASE_URL=" + pgtest.Through(t, service, network), "ORDERS_JWT_ISSUER=" + devissuer.Name,
		"ORDERS_JWT_AUDIENCE=" + devissuer.Audience, "ORDERS_JWKS_URL=" + keys.URL + devissuer.JWKSPath,
	})
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(t.Context(), cfg, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := a.ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	network.Freeze()
	for range 2 {
		a.readiness.until = a.readiness.now() // the result is too old
		if err := a.ready(t.Context()); err == nil {
			t.Fatal("the process is ready without a database")
		}
	}
	network.Thaw()
	const tries = 3 // the driver does not close the connection that was cut within six seconds
	for range tries {
		a.readiness.until = a.readiness.now()
		if err = a.ready(t.Context()); err == nil {
			return
		}
	}
	t.Errorf("the process is not ready after %d checks: %v", tries, err)
}
