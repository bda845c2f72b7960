package process_test

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"example.com/orders/internal/test/e2e"
)

func TestServe_RefusesOutdatedSchema(t *testing.T) {
	t.Parallel()
	binary := e2e.BuildOrders(t)
	for name, outdate := range map[string]func(t testing.TB, env *e2e.Env){
		"empty": emptyDatabase,
		"old": func(t testing.TB, env *e2e.Env) {
			t.Helper()
			env.Exec(t, `UPDATE schema_migrations SET version = version - 1`)
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

func TestServe_ReportsPortInUseInOneLine(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	inUse, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = inUse.Close() })
	addr := inUse.Addr().String()
	orders := e2e.BuildOrders(t)
	for _, variable := range []string{"ORDERS_ADDR", "ORDERS_ADMIN_ADDR"} {
		message := errorOf(t, orders, env.Environ(t, variable+"="+addr), "serve")
		if !strings.Contains(message, addr) || !strings.Contains(message, variable) || strings.Contains(message, "\n") {
			t.Errorf("not one line about %s and %s: %s", addr, variable, message)
		}
	}
}
