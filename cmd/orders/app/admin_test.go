package app

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/rs/zerolog"

	"example.com/orders/internal/telemetry"
)

// adminStatus returns how an admin listener at an address answers a request to a host.
func adminStatus(path, address, host string) int {
	a := &App{metrics: telemetry.New(zerolog.Nop()), handler: http.NotFoundHandler(), adminHost: "orders.internal"}
	r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
	r.Host = host
	w := httptest.NewRecorder()
	a.adminHandler(&net.TCPAddr{IP: net.ParseIP(address), Port: 9090}).ServeHTTP(w, r)
	return w.Code
}

// A page that a browser of this machine shows can give its own name the address 127.0.0.1.
func TestAdmin_OnLoopbackRefusesForeignHosts(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"127.0.0.1", "127.8.0.2", "::1"} {
		for _, host := range []string{
			"attacker.example", "attacker.example:9090", "localhost.attacker.example", "127.0.0.1.attacker.example:9090",
			"localhost:attacker.example", "192.0.2.7:9090", "0.0.0.0:9090", "[::]:9090",
		} {
			for _, path := range []string{"/metrics", "/debug/pprof/", "/health/ready"} {
				if got := adminStatus(path, address, host); got != http.StatusForbidden {
					t.Errorf("%s on %s for %q: status %d, want 403", path, address, host, got)
				}
			}
		}
	}
}

func TestAdmin_OnLoopbackServesThisMachine(t *testing.T) {
	t.Parallel()
	for _, host := range []string{
		"127.0.0.1:9090", "127.0.0.1", "127.8.0.2:9090", "localhost:9090", "LOCALHOST", "[::1]:9090", "[::1]",
		"localhost:15000", "orders.internal:9090", "",
	} {
		if got := adminStatus("/metrics", "127.0.0.1", host); got != http.StatusOK {
			t.Errorf("for %q: status %d, want 200", host, got)
		}
	}
}

// Prometheus and the kubelet ask for the address of a pod, or for the name of a Service.
func TestAdmin_OnAnotherAddressServesEveryHost(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"0.0.0.0", "::", "10.1.2.3"} {
		for _, host := range []string{"10.1.2.3:9090", "orders-admin.orders.svc:9090", "localhost:9090"} {
			if got := adminStatus("/metrics", address, host); got != http.StatusOK {
				t.Errorf("on %s for %q: status %d, want 200", address, host, got)
			}
		}
	}
}
