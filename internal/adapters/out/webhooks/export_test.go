package webhooks

import (
	"context"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"time"

	"code.dny.dev/ssrf"
)

// Trust adds a receiver's certificate to those that the sender trusts.
func (s *Sender) Trust(certificate *x509.Certificate) {
	pool := x509.NewCertPool()
	pool.AddCert(certificate)
	s.client.Transport.(*http.Transport).TLSClientConfig.RootCAs = pool
}

// ResolveWith makes the sender ask one name server.
func (s *Sender) ResolveWith(server string) {
	s.dialer.Resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server)
	}}
}

// TakeForPublic admits one address as if it were public.
func (s *Sender) TakeForPublic(address string) {
	*s.guard = *ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(netip.PrefixFrom(netip.MustParseAddr(address), 32)))
}

// Within changes the bounds that there are.
func (s *Sender) Within(d time.Duration) {
	handshake := &s.client.Transport.(*http.Transport).TLSHandshakeTimeout
	for _, bound := range []*time.Duration{&s.client.Timeout, handshake, &s.dialer.Timeout} {
		if *bound > 0 {
			*bound = d
		}
	}
}
