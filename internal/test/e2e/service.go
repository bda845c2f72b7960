package e2e

import (
	"cmp"
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"example.com/orders/cmd/orders/app"
	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/config"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/test/invariants"
)

// Service is one replica of the service, wired as `orders serve` does it.
type Service struct {
	*Env
	URL    string
	App    *app.App
	Config config.Config
	// MaxConnections is how many connections it keeps open; 0 is the service's number.
	MaxConnections int
	// Client sends the calls; nil is http.DefaultClient.
	Client *http.Client
}

// Start starts one replica in a new environment.
func Start(t testing.TB, settings ...string) *Service {
	t.Helper()
	return NewEnv(t).StartReplica(t, settings...)
}

// StartShop starts one replica that sells these products for 100.00 RUB each. When the
// test ends, it checks the database invariants.
func StartShop(t testing.TB, stock Stock, settings ...string) *Service {
	t.Helper()
	s := Start(t, settings...)
	s.StockUp(t, stock)
	return s
}

// StartTwoReplicas is [StartShop] with a second replica on the same database.
func StartTwoReplicas(t testing.TB, stock Stock, settings ...string) (a, b *Service) {
	t.Helper()
	a = Start(t, settings...)
	b = a.StartReplica(t, settings...)
	a.StockUp(t, stock)
	return a, b
}

// StockUp puts products. When the test ends, it checks the database invariants.
func (s *Service) StockUp(t testing.TB, stock Stock) {
	t.Helper()
	t.Cleanup(func() {
		initial := Stock{}
		for key, units := range s.stock.Range {
			sku, _ := key.(string)
			initial[sku], _ = units.(int)
		}
		invariants.Check(t, s.DB, initial)
	})
	for sku, onHand := range stock {
		s.PutProduct(t, sku, onHand)
	}
}

// StartReplica starts one more replica on the same database. It serves the API and runs
// no jobs.
func (e *Env) StartReplica(t testing.TB, settings ...string) *Service {
	t.Helper()
	return e.StartReplicaWithLog(t, func(config.Config) zerolog.Logger {
		return zerolog.New(zerolog.NewTestWriter(t))
	}, settings...)
}

// StartReplicaWithLog is [Env.StartReplica] with the caller's log.
func (e *Env) StartReplicaWithLog(
	t testing.TB, newLog func(config.Config) zerolog.Logger, settings ...string,
) *Service {
	t.Helper()
	cfg, err := config.Read(e.Environ(t, settings...))
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(t.Context(), cfg, newLog(cfg))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(a.Handler())
	t.Cleanup(func() {
		server.Close()
		a.Close()
	})
	return &Service{Env: e, URL: server.URL, App: a, Config: cfg}
}

// Run runs the replica as `orders serve` does, with the jobs, until stop is called or
// the test ends. A replica that has been stopped still answers on the URL, and is not
// ready.
func (s *Service) Run(t testing.TB) (stop func()) {
	t.Helper()
	addr, stop := s.run(t)
	Eventually(t, "the service runs", func() bool { return isOK(http.DefaultClient, "http://"+addr+"/health/ready") })
	return stop
}

// RunTLS is [Service.Run] for a replica with a certificate. It returns the replica as
// the client reaches it.
func (s *Service) RunTLS(t testing.TB, client *http.Client) *Service {
	t.Helper()
	addr, _ := s.run(t)
	secured := *s
	secured.URL, secured.Client = "https://"+addr, client
	Eventually(t, "the service runs", func() bool { return isOK(client, secured.URL+"/health/ready") })
	return &secured
}

func (s *Service) run(t testing.TB) (addr string, stop func()) {
	t.Helper()
	listeners, err := app.Listen(t.Context(), s.Config, cmp.Or(s.MaxConnections, app.MaxConnections))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.App.Run(ctx, listeners, 0) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := Receive(t, ended, "the service stops"); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return listeners.Public.Addr().String(), stop
}

// isOK reports whether a GET is answered with 200.
func isOK(client *http.Client, url string) bool {
	resp, err := client.Get(url) //nolint:noctx // a test ends after a while in any case
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// ReleaseExpiredReservations does one run of the job.
func (e *Env) ReleaseExpiredReservations(t testing.TB) {
	t.Helper()
	db := e.openStore(t)
	defer db.Close()
	if _, _, err := OrderService(db).ReleaseExpiredReservations(t.Context(), order.Expiry{}, 1000); err != nil {
		t.Fatal(err)
	}
}

// KeepReleasing releases expired reservations as two replicas do, again and again,
// until stop is called.
func (e *Env) KeepReleasing(t testing.TB) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var workers sync.WaitGroup
	for range 2 {
		db := e.openStore(t)
		workers.Go(func() {
			defer db.Close()
			for stopped := false; !stopped; stopped = ctx.Err() != nil {
				if _, _, err := OrderService(db).ReleaseExpiredReservations(t.Context(), order.Expiry{}, 10); err != nil {
					t.Errorf("release reservations: %v", err)
				}
			}
		})
	}
	return func() {
		cancel()
		workers.Wait()
	}
}

// OrderService returns the order use cases, for those that only the clock calls.
func OrderService(db *postgres.DB) *order.Service {
	return &order.Service{Store: db.Orders(), ReservationTTL: 15 * time.Minute}
}
