// Package transport_test tests how the service is reached: TLS, client certificates and
// requests from pages of other origins.
package transport_test

import (
	"bytes"
	"crypto/tls"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"example.com/orders/cmd/orders/app"
	"example.com/orders/internal/config"
	testcert "example.com/orders/internal/test/cert"
	"example.com/orders/internal/test/e2e"
	testlog "example.com/orders/internal/test/log"
	pgtest "example.com/orders/internal/test/pg"
)

func TestTLS_ServesHTTP2AndHTTP1(t *testing.T) {
	t.Parallel()
	ca := testcert.NewAuthority(t)
	s, _ := start(t, ca, newFiles(t, ca.Server(t), nil).settings()...)
	for want, attempt := range map[string]bool{"HTTP/2.0": true, "HTTP/1.1": false} {
		transport := &http.Transport{
			TLSClientConfig:   &tls.Config{RootCAs: ca.Pool(), MinVersion: tls.VersionTLS12},
			ForceAttemptHTTP2: attempt,
		}
		t.Cleanup(transport.CloseIdleConnections)
		resp, err := (&http.Client{Transport: transport}).Get(s.URL + "/health/ready")
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.Proto != want || resp.StatusCode != http.StatusOK {
			t.Errorf("protocol %s, status %d, want %s and 200", resp.Proto, resp.StatusCode, want)
		}
		if got := resp.Header.Get("Strict-Transport-Security"); got != "max-age=31536000" {
			t.Errorf("%s: Strict-Transport-Security is %q", want, got)
		}
	}
}

func TestTLS_RefusesOldVersionsAndPlainHTTP(t *testing.T) {
	t.Parallel()
	ca := testcert.NewAuthority(t)
	s, _ := start(t, ca, newFiles(t, ca.Server(t), nil).settings()...)
	addr := strings.TrimPrefix(s.URL, "https://")
	for version, accepted := range map[uint16]bool{
		tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true,
	} {
		dialer := &tls.Dialer{Config: &tls.Config{RootCAs: ca.Pool(), MinVersion: version, MaxVersion: version}}
		conn, err := dialer.DialContext(t.Context(), "tcp", addr)
		if (err == nil) != accepted {
			t.Errorf("%s: err = %v", tls.VersionName(version), err)
		}
		if err == nil {
			_ = conn.Close()
		}
	}
	resp, err := http.Get("http://" + addr + "/health/live")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("plain HTTP: status %d, want 400", resp.StatusCode)
	}
}

// Each broken file must stop the start, and say which setting it is about.
func TestTLS_RefusesBrokenFilesAtTheStart(t *testing.T) {
	t.Parallel()
	ca, env := testcert.NewAuthority(t), e2e.NewEnv(t)
	good := newFiles(t, ca.Server(t), ca.PEM())
	other := newFiles(t, ca.Server(t), []byte("no certificate"))
	absent := filepath.Join(t.TempDir(), "absent.pem")
	for name, c := range map[string]struct{ cert, key, clientCA, want string }{
		"no file":             {absent, good.path("tls.key"), "", absent},
		"key of another pair": {good.path("tls.crt"), other.path("tls.key"), "", "ORDERS_TLS_CERT and ORDERS_TLS_KEY"},
		"key as certificate":  {good.path("tls.key"), good.path("tls.key"), "", "ORDERS_TLS_CERT and ORDERS_TLS_KEY"},
		"CA without a file":   {good.path("tls.crt"), good.path("tls.key"), absent, absent},
		"CA without certificate": {good.path("tls.crt"), good.path("tls.key"), other.path("ca.crt"),
			"ORDERS_TLS_CLIENT_CA: the file contains no certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, err := config.Read(env.Environ(t, "ORDERS_TLS_CERT="+c.cert, "ORDERS_TLS_KEY="+c.key, "ORDERS_TLS_CLIENT_CA="+c.clientCA))
			if err != nil {
				t.Fatal(err)
			}
			a, err := app.New(t.Context(), cfg, zerolog.Nop())
			if err == nil {
				a.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "PRIVATE KEY") {
				t.Errorf("err = %v, want one about %s", err, c.want)
			}
		})
	}
}

// Clients that keep their connections and clients that open new ones send requests while
// the certificate is replaced. None of the requests may fail.
func TestTLS_RotatesCertificatesWithoutFailingRequests(t *testing.T) {
	t.Parallel()
	ca := testcert.NewAuthority(t)
	pair := ca.Server(t)
	f := newFiles(t, pair, nil)
	s, _ := start(t, ca, f.settings()...)
	stopping := make(chan struct{})
	var clients sync.WaitGroup
	for _, keepAlive := range []bool{true, false} {
		client := newClient(t, ca, nil)
		client.Transport.(*http.Transport).DisableKeepAlives = !keepAlive
		clients.Go(func() { keepCalling(t, as(s, client), stopping) })
	}
	for range 2 {
		next := ca.Server(t)
		f.replace(t, next, nil)
		e2e.Eventually(t, "new connections get the new certificate", func() bool { return uses(t, s, ca, next) })
	}
	close(stopping)
	clients.Wait()
}

// keepCalling calls the service until stopping is closed. Every call must succeed.
func keepCalling(t *testing.T, s *e2e.Service, stopping <-chan struct{}) {
	t.Helper()
	for {
		select {
		case <-stopping:
			return
		case <-time.After(10 * time.Millisecond): // leaves the machine to other tests
		}
		if r, err := s.Try(t.Context(), t, e2e.Get("", "/health/live")); err != nil || r.Status != http.StatusOK {
			t.Errorf("status %d, %v", r.Status, err)
			return
		}
	}
}

func TestTLS_KeepsThePairWhoseSuccessorIsBroken(t *testing.T) {
	t.Parallel()
	ca := testcert.NewAuthority(t)
	first, second := ca.Server(t), ca.Server(t)
	f := newFiles(t, first, nil)
	s, log := start(t, ca, f.settings()...)
	failures := func() int { return strings.Count(log.String(), "tls certificate reload failed") }

	f.replace(t, testcert.Pair{Cert: second.Cert, Key: first.Key}, nil) // half of a pair
	e2e.Eventually(t, "the failure is logged and the first pair is used", func() bool { return uses(t, s, ca, first) && failures() == 1 })
	if err := os.Remove(filepath.Join(f.dir, "current")); err != nil {
		t.Fatal(err)
	}
	e2e.Eventually(t, "absent files are logged and the first pair is used", func() bool { return uses(t, s, ca, first) && failures() == 2 })
	f.replace(t, second, nil)
	e2e.Eventually(t, "the second pair is used", func() bool { return uses(t, s, ca, second) })
	if failures() != 2 || strings.Contains(log.String(), "PRIVATE KEY") {
		t.Errorf("each change is logged once, and no key: %s", log)
	}
}

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

func TestMain(m *testing.M) { pgtest.Main(m) }

// files are the certificate files of a service. As in a mounted secret of Kubernetes, the
// paths lead through a symbolic link to a folder, and a new version is a new folder.
type files struct {
	dir     string
	version int
}

func newFiles(t testing.TB, pair testcert.Pair, clientCA []byte) *files {
	t.Helper()
	f := &files{dir: t.TempDir()}
	f.replace(t, pair, clientCA)
	return f
}

// replace puts a new version of all files in place, in one step.
func (f *files) replace(t testing.TB, pair testcert.Pair, clientCA []byte) {
	t.Helper()
	f.version++
	version := filepath.Join(f.dir, "v"+strconv.Itoa(f.version))
	if err := os.Mkdir(version, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"tls.crt": pair.Cert, "tls.key": pair.Key, "ca.crt": clientCA} {
		if err := os.WriteFile(filepath.Join(version, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(f.dir, "next")
	if err := os.Symlink(version, link); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(link, filepath.Join(f.dir, "current")); err != nil {
		t.Fatal(err)
	}
}

func (f *files) path(name string) string { return filepath.Join(f.dir, "current", name) }

// settings returns the settings of a service that uses the files.
func (f *files) settings() []string {
	return []string{"ORDERS_TLS_CERT=" + f.path("tls.crt"), "ORDERS_TLS_KEY=" + f.path("tls.key")}
}

// clientSettings returns the settings of a service whose system callers need certificates.
func (f *files) clientSettings() []string {
	return append(f.settings(), "ORDERS_TLS_CLIENT_CA="+f.path("ca.crt"))
}

// start runs a service with these settings and returns it as it is reached by TLS, and
// its log.
func start(t testing.TB, ca *testcert.Authority, settings ...string) (*e2e.Service, *testlog.Buffer) {
	t.Helper()
	log := &testlog.Buffer{}
	s := e2e.NewEnv(t).StartReplicaWithLog(t, func(config.Config) zerolog.Logger { return zerolog.New(log) }, settings...)
	return s.RunTLS(t, newClient(t, ca, nil)), log
}

// newClient returns a client that trusts a CA and presents a certificate, if it has one:
// also to a server that asks for another CA's. It has connections of its own, and resumes
// sessions.
func newClient(t testing.TB, ca *testcert.Authority, pair *testcert.Pair) *http.Client {
	t.Helper()
	cfg := &tls.Config{RootCAs: ca.Pool(), MinVersion: tls.VersionTLS12, ClientSessionCache: tls.NewLRUClientSessionCache(0)}
	if pair != nil {
		presented := pair.TLS(t)
		cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &presented, nil }
	}
	transport := &http.Transport{TLSClientConfig: cfg, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// newSystemClient returns a client with a valid certificate of a CA for clients.
func newSystemClient(t testing.TB, ca, clients *testcert.Authority) *http.Client {
	t.Helper()
	pair := clients.Client(t, time.Now().Add(time.Hour))
	return newClient(t, ca, &pair)
}

// as returns the service as another client reaches it.
func as(s *e2e.Service, client *http.Client) *e2e.Service {
	other := *s
	other.Client = client
	return &other
}

// uses reports whether a new connection gets this certificate.
func uses(t testing.TB, s *e2e.Service, ca *testcert.Authority, pair testcert.Pair) bool {
	t.Helper()
	dialer := tls.Dialer{Config: &tls.Config{RootCAs: ca.Pool(), MinVersion: tls.VersionTLS12}}
	conn, err := dialer.DialContext(t.Context(), "tcp", s.URL[len("https://"):])
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	return bytes.Equal(conn.(*tls.Conn).ConnectionState().PeerCertificates[0].Raw, pair.TLS(t).Certificate[0])
}
