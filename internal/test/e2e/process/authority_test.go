package process_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	testcert "example.com/orders/internal/test/cert"
	"example.com/orders/internal/test/e2e"
	testwait "example.com/orders/internal/test/wait"
)

// serveKeys serves the issuer's keys by TLS.
func serveKeys(t *testing.T, cfg *tls.Config, keys string) (url string) {
	t.Helper()
	issuer := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(keys))
	}))
	issuer.TLS = cfg
	issuer.StartTLS()
	t.Cleanup(issuer.Close)
	return issuer.URL
}

// startTLSBroker starts a broker with streams that is reached by TLS.
func startTLSBroker(t *testing.T, cfg *tls.Config) (url string) {
	t.Helper()
	broker, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), TLS: true, TLSConfig: cfg,
		NoSigs: true, NoLog: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	broker.Start()
	t.Cleanup(func() { broker.Shutdown(); broker.WaitForShutdown() })
	if !broker.ReadyForConnections(testwait.Patience) {
		t.Fatal("the broker does not start")
	}
	return strings.Replace(broker.ClientURL(), "nats://", "tls://", 1)
}

// The system's CAs are those in a file that this variable names.
func TestServe_TrustsAPrivateCA(t *testing.T) {
	t.Parallel()
	env, authority := e2e.NewEnv(t), testcert.NewAuthority(t)
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{authority.Server(t).TLS(t)}}
	_, keys := e2e.Fetch(t, env.JWKSURL)
	path := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(path, authority.PEM(), 0o600); err != nil {
		t.Fatal(err)
	}

	s := env.ServiceOf(env.StartProcess(t, e2e.BuildOrders(t), "SSL_CERT_FILE="+path,
		"ORDERS_JWKS_URL="+serveKeys(t, cfg, keys), "ORDERS_NATS_URL="+startTLSBroker(t, cfg)))

	s.Credit(t, e2e.Alice, "1.00")
	e2e.Eventually(t, "the broker has the event", func() bool {
		return s.Count(t, "SELECT count(*) FROM outbox WHERE published_at IS NULL") == 0
	})
}
