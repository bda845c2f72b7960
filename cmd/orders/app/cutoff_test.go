package app

import (
	"net/http/httptest"
	"testing"

	"github.com/rs/zerolog"

	"example.com/orders/internal/config"
	devissuer "example.com/orders/internal/dev/issuer"
	pgtest "example.com/orders/internal/test/pg"
)

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
