package transport_test

import (
	"net/http"
	"testing"
	"time"

	testcert "example.com/orders/internal/test/cert"
	"example.com/orders/internal/test/e2e"
)

func TestClientCertificate_IsRequiredOfSystemCallersOnly(t *testing.T) {
	t.Parallel()
	ca, clients := testcert.NewAuthority(t), testcert.NewAuthority(t)
	plain, _ := start(t, ca, newFiles(t, ca.Server(t), clients.PEM()).clientSettings()...)
	certified := as(plain, newSystemClient(t, ca, clients))
	system, both := plain.SystemToken(t), plain.Token(t, e2e.Root, "system", "admin")
	products, auditLog, balance := "/products", "/admin/audit-log", "/customers/alice/balance"
	for name, c := range map[string]struct {
		service     *e2e.Service
		token, path string
		want        string
	}{
		"system, none":                      {plain, system, balance, "403 forbidden_role"},
		"system, none, a route of any role": {plain, system, products, "403 forbidden_role"},
		"system, certificate":               {certified, system, balance, "200"},
		"system and admin, none":            {plain, both, auditLog, "403 forbidden_role"},
		"system and admin, certificate":     {certified, both, auditLog, "200"},
		"admin, none":                       {plain, plain.AdminToken(t), auditLog, "200"},
		"customer, none":                    {plain, plain.CustomerToken(t), balance, "200"},
		"customer, certificate":             {certified, plain.CustomerToken(t), auditLog, "403 forbidden_role"},
		"bad token, certificate":            {certified, "no token", balance, "401 unauthenticated"},
		"no token, certificate":             {certified, "", balance, "401 unauthenticated"},
		"no token, none":                    {plain, "", "/health/ready", "200"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := c.service.Send(t, e2e.Get(c.token, c.path)).Verdict(); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// A certificate that cannot be verified ends the handshake, whoever presents it.
func TestClientCertificate_ThatIsInvalidIsRefused(t *testing.T) {
	t.Parallel()
	ca, clients := testcert.NewAuthority(t), testcert.NewAuthority(t)
	s, _ := start(t, ca, newFiles(t, ca.Server(t), clients.PEM()).clientSettings()...)
	for name, pair := range map[string]testcert.Pair{
		"of another CA": testcert.NewAuthority(t).Client(t, time.Now().Add(time.Hour)),
		"expired":       clients.Client(t, time.Now().Add(-time.Hour)),
		"of a server":   clients.Server(t),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := as(s, newClient(t, ca, &pair)).Try(t.Context(), t, e2e.Get(s.SystemToken(t), "/products"))
			if err == nil {
				t.Errorf("the request is answered with %d", r.Status)
			}
		})
	}
}

// When the CA is replaced, its certificates end: also on connections that are open, and
// also for clients that resume a session.
func TestClientCertificate_EndsWithItsCA(t *testing.T) {
	t.Parallel()
	ca, before, after := testcert.NewAuthority(t), testcert.NewAuthority(t), testcert.NewAuthority(t)
	pair := ca.Server(t)
	f := newFiles(t, pair, before.PEM())
	s, _ := start(t, ca, f.clientSettings()...)
	old := as(s, newSystemClient(t, ca, before))
	status := func(s *e2e.Service) int {
		r, err := s.Try(t.Context(), t, e2e.Get(s.SystemToken(t), "/products"))
		if err != nil {
			return 0
		}
		return r.Status
	}
	if got := status(old); got != http.StatusOK {
		t.Fatalf("before the change: status %d", got)
	}

	f.replace(t, pair, after.PEM())

	e2e.Eventually(t, "a certificate of the new CA is accepted", func() bool {
		return status(as(s, newSystemClient(t, ca, after))) == http.StatusOK
	})
	if got := status(old); got != http.StatusForbidden {
		t.Errorf("on an open connection: status %d, want 403", got)
	}
	old.Client.CloseIdleConnections()
	if got := status(old); got != 0 {
		t.Errorf("on a new connection: status %d, want none", got)
	}
}
