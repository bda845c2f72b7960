//go:build prometheus

package alerts

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	devbroker "example.com/orders/internal/dev/broker"
	devissuer "example.com/orders/internal/dev/issuer"
	devpostgres "example.com/orders/internal/dev/postgres"
	"example.com/orders/internal/test/e2e"
	natstest "example.com/orders/internal/test/nats"
	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// poolSize is the number of connections of a replica for requests.
const poolSize = 8

// system is two replicas of the service with everything that they need, and a Prometheus that
// scrapes them.
type system struct {
	*e2e.Service
	replicas   []*e2e.Process
	admin      []string
	server     *devpostgres.Server
	broker     *devbroker.Broker
	provider   *e2e.CardProvider
	silent     atomic.Bool // the token issuer serves no keys
	prometheus prometheus
}

// serveKeys serves the keys of the token issuer.
func (s *system) serveKeys(w http.ResponseWriter, r *http.Request) {
	if s.silent.Load() {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	s.Issuer.Handler().ServeHTTP(w, r)
}

// startSystem starts a system. prepare changes the database before the service starts.
func startSystem(t testing.TB, rules string, prepare func(*e2e.Env), settings ...string) *system {
	t.Helper()
	env := e2e.NewEnv(t)
	s := &system{Service: &e2e.Service{Env: env}, server: pgtest.NewCluster(t, nil), broker: natstest.New(t)}
	env.DatabaseURL = pgtest.NewOn(t, s.server)
	env.Connect(t)
	prepare(env)
	keys := httptest.NewServer(http.HandlerFunc(s.serveKeys))
	t.Cleanup(keys.Close)
	env.JWKSURL = keys.URL + devissuer.JWKSPath
	s.provider = e2e.StartCardProvider(t, pgtest.New(t))
	binary := e2e.BuildOrders(t)
	settings = append(append(e2e.CardSettings(s.provider.URL), "ORDERS_NATS_URL="+s.broker.URL(),
		env.DatabaseSetting(t, "pool_max_conns", strconv.Itoa(poolSize))), settings...)
	for range 2 {
		admin := e2e.FreeAddr(t)
		s.admin = append(s.admin, admin)
		s.replicas = append(s.replicas, env.StartProcess(t, binary, append(settings, "ORDERS_ADMIN_ADDR="+admin)...))
	}
	s.URL = s.replicas[0].URL
	s.prometheus = startPrometheus(t, rules, s.admin)
	return s
}

// plant lets a trigger do something for each row, until repair is called. The trigger is
// "TRIGGER BEFORE UPDATE ON orders", and what it does is PL/pgSQL.
func (s *system) plant(t testing.TB, trigger, does string) (repair func()) {
	t.Helper()
	kind, when, _ := strings.Cut(trigger, "TRIGGER")
	name := `"` + s.UniqueName("planted") + `"`
	s.Exec(t, `CREATE FUNCTION `+name+`() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
		$$ BEGIN `+does+`; RETURN coalesce(NEW, OLD); END $$`)
	s.Exec(t, `CREATE `+kind+`TRIGGER `+name+when+` FOR EACH ROW EXECUTE FUNCTION `+name+`()`)
	return func() { s.Exec(t, `DROP FUNCTION `+name+` CASCADE`) }
}

// keepSending sends calls of a client one after the other until the test ends. What becomes
// of each is up to the fault.
func (s *system) keepSending(t testing.TB, next func() e2e.Call) {
	t.Helper()
	natstest.Run(t, func(ctx context.Context) {
		for ctx.Err() == nil {
			_, _ = s.Try(ctx, t, next())
		}
	})
}
