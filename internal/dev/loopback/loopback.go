// Package loopback restricts development servers to this machine, because their pages
// act for any user and hand out tokens with any role.
package loopback

import (
	"cmp"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// Only serves requests that come from this machine and name it as their host, and
// refuses the rest with 403. A site with a name that resolves to this machine (DNS
// rebinding) reaches the server, but the name stays in Host.
func Only(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLocalPeer(r.RemoteAddr) || !isLocalHost(r.Host) {
			http.Error(w, "this is served to the machine itself, at a loopback address or localhost", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// SameOrigin is [Only], restricted to scripts on this server's pages. Browsers set
// Sec-Fetch-Site, and scripts cannot. It refuses other sites, other local ports, links
// and other programs with 403.
func SameOrigin(next http.Handler) http.Handler {
	return Only(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if sites := r.Header.Values("Sec-Fetch-Site"); len(sites) != 1 || sites[0] != "same-origin" {
			http.Error(w, "this is served to the pages of this server", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	}))
}

func isLocalPeer(addr string) bool {
	peer, err := netip.ParseAddrPort(addr)
	return err == nil && peer.Addr().Unmap().IsLoopback()
}

// isLocalHost reports whether a Host is localhost or a loopback address, with or without a
// port.
func isLocalHost(host string) bool {
	u, err := url.Parse("http://" + host)
	if err != nil || u.Host != host { // the rest would be a user or a path
		return false
	}
	if _, err := strconv.ParseUint(cmp.Or(u.Port(), "80"), 10, 16); err != nil {
		return false
	}
	addr, err := netip.ParseAddr(u.Hostname())
	return strings.EqualFold(u.Hostname(), "localhost") || err == nil && addr.IsLoopback()
}
