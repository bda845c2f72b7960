package process_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	devissuer "example.com/orders/internal/dev/issuer"
	"example.com/orders/internal/test/e2e"
)

// drainNotice is how long a process that was asked to stop is not ready before it stops
// listening.
const drainNotice = time.Second

func TestServe_RefusesOutdatedSchema(t *testing.T) {
	t.Parallel()
	binary := e2e.BuildOrders(t)
	for name, outdate := range map[string]func(t testing.TB, env *e2e.Env){
		"empty": emptyDatabase,
		"old": func(t testing.TB, env *e2e.Env) {
			t.Helper()
			env.Exec(t, `UPDATE schema_migrations SET version = version - 1`)
		},
		"dirty": func(t testing.TB, env *e2e.Env) {
			t.Helper()
			env.Exec(t, `UPDATE schema_migrations SET dirty = true`)
		},
		"no row": func(t testing.TB, env *e2e.Env) {
			t.Helper()
			env.Exec(t, `DELETE FROM schema_migrations`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := e2e.NewEnv(t)
			outdate(t, env)
			if message := errorOf(t, binary, env.Environ(t), "serve"); !strings.Contains(message, "orders migrate up") {
				t.Errorf("the error does not say what to do: %s", message)
			}
		})
	}
}

// A newer schema is good enough, because an upgrade migrates first, and so is one that is
// being migrated: for that long, it is dirty. An older one means that somebody replaced the
// database of a running service.
func TestReadiness_DependsOnSchema(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	for _, c := range []struct {
		change string
		want   int
	}{
		{"version = version - 1", http.StatusServiceUnavailable},
		{"version = version + 2", http.StatusOK},
		{"version = version - 2", http.StatusServiceUnavailable},
		{"version = version + 2, dirty = true", http.StatusOK},
		{"version = version - 1", http.StatusServiceUnavailable},
		{"dirty = false", http.StatusOK},
	} {
		s.Exec(t, `UPDATE schema_migrations SET `+c.change)
		e2e.Eventually(t, fmt.Sprintf("after %s: status %d", c.change, c.want), func() bool {
			return s.Send(t, e2e.Get("", "/health/ready")).Status == c.want
		})
	}
}

func TestServe_NamesEveryMissingVariable(t *testing.T) {
	t.Parallel()
	message := errorOf(t, e2e.BuildOrders(t), nil, "serve")
	for _, name := range []string{"ORDERS_DATABASE_URL", "ORDERS_JWT_ISSUER", "ORDERS_JWT_AUDIENCE", "ORDERS_JWKS_URL"} {
		if !strings.Contains(message, name) {
			t.Errorf("the error does not name %s: %s", name, message)
		}
	}
}

func TestServe_ReportsPortInUseInOneLine(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	inUse, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = inUse.Close() })
	addr := inUse.Addr().String()
	orders, dev := e2e.BuildOrders(t), e2e.BuildOrdersDev(t)
	for _, variable := range []string{"ORDERS_ADDR", "ORDERS_ADMIN_ADDR"} {
		for _, command := range [][]string{{orders, "serve"}, {dev, "--dir", t.TempDir()}} {
			t.Run(filepath.Base(command[0])+" "+variable, func(t *testing.T) {
				t.Parallel()
				message := errorOf(t, command[0], env.Environ(t, variable+"="+addr), command[1:]...)
				if !strings.Contains(message, addr) || !strings.Contains(message, variable) || strings.Contains(message, "\n") {
					t.Errorf("not one line about %s and %s: %s", addr, variable, message)
				}
			})
		}
	}
}

func TestOrders_KeepsPasswordOutOfErrors(t *testing.T) {
	t.Parallel()
	binary := e2e.BuildOrders(t)
	env := e2e.NewEnv(t)
	for name, url := range map[string]string{
		"nobody listens": "postgres://orders:hunter2@127.0.0.1:1/orders?connect_timeout=2",
		"bad parameter":  "postgres://orders:hunter2@127.0.0.1:1/orders?pool_max_conns=many",
		"bad port":       "postgres://orders:hunter2@127.0.0.1:port/orders",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, command := range [][]string{{"serve"}, {"migrate", "up"}, {"migrate", "down"}, {"migrate", "version"}} {
				if name == "nobody listens" && command[0] == "serve" {
					continue // see TestServe_StopsWhileItWaitsForTheDatabase
				}
				message := errorOf(t, binary, env.Environ(t, "ORDERS_DATABASE_URL="+url), command...)
				if strings.Contains(message, "hunter2") {
					t.Errorf("orders %s: %s", strings.Join(command, " "), message)
				}
			}
		})
	}
}

func TestServe_FreesPortWhenItStops(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	p := env.StartProcess(t, e2e.BuildOrders(t))
	asked := time.Now()
	p.WantEnd(t, p.Terminate(t), e2e.Patience)
	if took := time.Since(asked); took < drainNotice {
		t.Errorf("it stopped after %v, before load balancers could notice", took)
	}
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", strings.TrimPrefix(p.URL, "http://"))
	if err != nil {
		t.Fatalf("the port is still in use: %v", err)
	}
	_ = ln.Close()
}

func TestOrdersDevToken_IsAcceptedByService(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	issuer, err := devissuer.New(devissuer.Config{Dir: filepath.Join(dir, "issuer"), Algorithm: "ES256"})
	if err != nil {
		t.Fatal(err)
	}
	keys := httptest.NewServer(issuer.Handler())
	t.Cleanup(keys.Close)
	env := e2e.NewEnv(t)
	env.JWKSURL = keys.URL + devissuer.JWKSPath
	s := env.StartReplica(t)
	dev := e2e.BuildOrdersDev(t)

	printed := output(t, dev, nil, "token", "--dir", dir, "--sub", e2e.Alice, "--role", "customer,seller", "--ttl", "1m")

	token := strings.TrimSuffix(printed, "\n")
	if strings.ContainsAny(token, " \n") {
		t.Errorf("it prints more than the token: %q", printed)
	}
	if r := s.Send(t, e2e.Get(token, "/customers/alice/balance")); r.Status != http.StatusOK {
		t.Errorf("status %d: %s", r.Status, r.Body)
	}
	if r := s.Send(t, e2e.Get(token, "/customers/alice/profile")); r.Code() != "not_found" {
		t.Errorf("as a customer without a profile: %d %s", r.Status, r.Body)
	}
	expired := strings.TrimSpace(output(t, dev, nil, "token", "--dir", dir, "--sub", e2e.Alice, "--role", "customer", "--ttl", "-1m"))
	s.WantProblem(t, http.StatusUnauthorized, "unauthenticated", e2e.Get(expired, "/customers/alice/balance"))
}
