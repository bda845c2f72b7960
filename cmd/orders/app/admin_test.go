package app

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/rs/zerolog"

	"example.com/orders/internal/observe/metrics"
)

// adminStatus returns how an admin listener at an address answers a request to a host.
func adminStatus(path, address, host string) int {
	a := &App{metrics: metrics.New(zerolog.Nop()), handler: http.NotFoundHandler(), adminHost: "orders.internal"}
	r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
	r.Host = host
	w := httptest.NewRecorder()
	a.adminHandler(&net.TCPAddr{IP: net.ParseIP(address), Port: 9090}).ServeHTTP(w, r)
	return w.Code
}

// A page that a browser of this machine shows can give its own name the address 127.0.0.1.
// Elsewhere, Prometheus and the kubelet ask for a pod's address or for a Service's name.
func TestAdmin_OnLoopbackRefusesForeignHosts(t *testing.T) {
	t.Parallel()
	foreign := []string{
		"attacker.example", "attacker.example:9090", "localhost.attacker.example", "127.0.0.1.attacker.example:9090",
		"localhost:attacker.example", "192.0.2.7:9090", "0.0.0.0:9090", "[::]:9090",
	}
	local := []string{
		"127.0.0.1:9090", "127.0.0.1", "127.8.0.2:9090", "localhost:9090", "LOCALHOST", "[::1]:9090", "[::1]",
		"orders.internal:9090", "",
	}
	for _, c := range []struct {
		addresses, hosts []string
		want             int
	}{
		{[]string{"127.0.0.1", "127.8.0.2", "::1"}, foreign, http.StatusForbidden},
		{[]string{"127.0.0.1", "127.8.0.2", "::1"}, local, http.StatusOK},
		{[]string{"0.0.0.0", "::", "10.1.2.3"}, append(foreign, local...), http.StatusOK},
	} {
		for _, address := range c.addresses {
			for _, host := range c.hosts {
				if got := adminStatus("/metrics", address, host); got != c.want {
					t.Errorf("on %s for %q: status %d, want %d", address, host, got, c.want)
				}
			}
		}
	}
	for _, path := range []string{"/debug/pprof/", "/health/ready"} {
		if got := adminStatus(path, "127.0.0.1", "attacker.example"); got != http.StatusForbidden {
			t.Errorf("%s: status %d, want 403", path, got)
		}
	}
}
