package loopback

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

var served = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })

// status returns how a handler answers a request from a peer to a host.
func status(handler http.Handler, peer, host string, sites ...string) int {
	r := httptest.NewRequest(http.MethodPost, "/docs/token", nil)
	r.RemoteAddr, r.Host = peer, host
	for _, site := range sites {
		r.Header.Add("Sec-Fetch-Site", site)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w.Code
}

func TestOnly_ServesThisMachineUnderItsOwnName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		peer, host string
		want       int
	}{
		{"127.0.0.1:50000", "127.0.0.1:8080", http.StatusNoContent},
		{"127.0.0.1:50000", "localhost:8080", http.StatusNoContent},
		{"127.0.0.1:50000", "LOCALHOST", http.StatusNoContent},
		{"[::1]:50000", "[::1]:8080", http.StatusNoContent},
		{"[::1]:50000", "[::1]", http.StatusNoContent},
		{"[::ffff:127.0.0.1]:50000", "127.0.0.1:8080", http.StatusNoContent},
		{"192.0.2.7:50000", "127.0.0.1:8080", http.StatusForbidden},
		{"192.0.2.7:50000", "localhost:8080", http.StatusForbidden},
		{"127.0.0.1:50000", "attacker.example:8080", http.StatusForbidden},
		{"127.0.0.1:50000", "127.0.0.1.attacker.example", http.StatusForbidden},
		{"127.0.0.1:50000", "localhost.attacker.example", http.StatusForbidden},
		{"127.0.0.1:50000", "192.0.2.7:8080", http.StatusForbidden},
		{"127.0.0.1:50000", "0.0.0.0:8080", http.StatusForbidden},
		{"127.0.0.1:50000", "localhost:attacker.example", http.StatusForbidden},
		{"127.0.0.1:50000", "127.0.0.1:80@attacker.example", http.StatusForbidden},
		{"127.0.0.1:50000", "localhost:70000", http.StatusForbidden},
		{"127.0.0.1:50000", "", http.StatusForbidden},
		{"127.0.0.1:50000", "localhost:evil", http.StatusForbidden},
		{"127.0.0.1:50000", "localhost:80.attacker.example", http.StatusForbidden},
		{"127.0.0.1:50000", "127.0.0.1:8080:evil", http.StatusForbidden},
		{"127.0.0.1:50000", "localhost:8080/evil", http.StatusForbidden},
		{"127.0.0.1:50000", "evil@localhost:8080", http.StatusForbidden},
		{"127.0.0.1:50000", "[localhost]", http.StatusForbidden},
		{"127.0.0.1:50000", "::1", http.StatusForbidden},
		{"", "localhost", http.StatusForbidden},
	} {
		if got := status(Only(served), c.peer, c.host); got != c.want {
			t.Errorf("from %q to %q: status %d, want %d", c.peer, c.host, got, c.want)
		}
		if got := status(SameOrigin(served), c.peer, c.host, "same-origin"); got != c.want {
			t.Errorf("a script, from %q to %q: status %d, want %d", c.peer, c.host, got, c.want)
		}
	}
}

func TestSameOrigin_ServesScriptsOfItsOwnPages(t *testing.T) {
	t.Parallel()
	for _, sites := range [][]string{nil, {""}, {"none"}, {"same-site"}, {"cross-site"}, {"same-origin", "cross-site"}, {"Same-Origin"}} {
		if got := status(SameOrigin(served), "127.0.0.1:50000", "localhost:8080", sites...); got != http.StatusForbidden {
			t.Errorf("Sec-Fetch-Site %q: status %d, want 403", sites, got)
		}
	}
}
