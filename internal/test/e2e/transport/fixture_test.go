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
	"testing"
	"time"

	"github.com/rs/zerolog"

	"example.com/orders/internal/config"
	testcert "example.com/orders/internal/test/cert"
	"example.com/orders/internal/test/e2e"
	testlog "example.com/orders/internal/test/log"
	pgtest "example.com/orders/internal/test/pg"
)

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
