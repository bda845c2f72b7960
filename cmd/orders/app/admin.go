package app

import (
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"strconv"
	"strings"

	httpapi "example.com/orders/internal/adapters/in/http"
)

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
	return httpapi.SecureHeaders(a.onlyLocalNames(addr, mux))
}

// onlyLocalNames refuses requests to a loopback listener that name another host. A page
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
