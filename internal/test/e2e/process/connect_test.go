package process_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"example.com/orders/internal/config"
	testcert "example.com/orders/internal/test/cert"
	"example.com/orders/internal/test/e2e"
	testlog "example.com/orders/internal/test/log"
	natstest "example.com/orders/internal/test/nats"
	pgbouncertest "example.com/orders/internal/test/pgbouncer"
)

// warnings returns the warnings that a replica with these settings logs when it starts.
func warnings(t *testing.T, env *e2e.Env, settings ...string) []string {
	t.Helper()
	log := &testlog.Buffer{}
	s := env.StartReplicaWithLog(t, func(config.Config) zerolog.Logger { return zerolog.New(log) }, settings...)
	s.App.LogStart(s.Config)
	var found []string
	for _, line := range log.Lines(t) {
		if line["level"] == "warn" {
			found = append(found, line["message"].(string))
		}
	}
	return found
}

func TestStart_WarnsAboutWhatIsMissing(t *testing.T) {
	t.Parallel()
	env, broker := e2e.NewEnv(t), natstest.New(t)
	const noCards, noBroker = "card payments are refused: ORDERS_STRIPE_KEY is not set", "events wait in the outbox: ORDERS_NATS_URL is not set"
	const oneCopy = "one broker server keeps each event: set ORDERS_NATS_REPLICAS=3 to survive its loss"
	cards := e2e.CardSettings(e2e.SilentProvider)
	for _, c := range []struct{ settings, want []string }{
		{nil, []string{noCards, noBroker}},
		{[]string{"ORDERS_OUTBOX=external"}, []string{noCards}},
		{append(slices.Clip(cards), "ORDERS_NATS_URL="+broker.URL()), []string{oneCopy}},
		{append(slices.Clip(cards), "ORDERS_NATS_URL="+broker.URL(), "ORDERS_NATS_REPLICAS=3"), nil},
	} {
		if got := warnings(t, env, c.settings...); !slices.Equal(got, c.want) {
			t.Errorf("%v: warnings %q, want %q", c.settings, got, c.want)
		}
	}
}

// Debezium reads the outbox elsewhere, so here its events only wait to be deleted. A broker
// for the warehouse's messages changes nothing.
func TestOutbox_ThatIsExternalFillsNoBroker(t *testing.T) {
	t.Parallel()
	broker := natstest.New(t)
	for name, settings := range map[string][]string{"no broker": nil, "a broker": {"ORDERS_NATS_URL=" + broker.URL()}} {
		s := e2e.Start(t, append(settings, "ORDERS_OUTBOX=external")...)
		s.Run(t)
		s.Credit(t, e2e.Alice, "1.00")
		e2e.Eventually(t, name+": no event is unpublished", func() bool {
			return s.Count(t, "SELECT count(*) FROM outbox WHERE published_at IS NULL") == 0
		})
		if n := s.Count(t, "SELECT count(*) FROM outbox"); n != 1 {
			t.Errorf("%s: %d events in the outbox, want 1", name, n)
		}
	}
	if _, err := natstest.JetStream(t, broker).Stream(t.Context(), "ORDERS"); err == nil {
		t.Error("the service publishes as well")
	}
}

func TestServe_NamesTheSettingThatAPoolerNeeds(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	pooledURL := pgbouncertest.Start(t, env.ServiceURL(t), 4)
	p := env.StartWaiting(t, e2e.BuildOrders(t), "ORDERS_DATABASE_URL="+pooledURL)
	e2e.Eventually(t, "the log names the setting", func() bool {
		return strings.Contains(p.Log(), "set ORDERS_DATABASE_POOLER=transaction: ")
	})
}

func TestServe_ReadsTheDatabaseURLFromAFile(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	path := filepath.Join(t.TempDir(), "url")
	if err := os.WriteFile(path, []byte(env.ServiceURL(t)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := env.StartProcess(t, e2e.BuildOrders(t), "ORDERS_DATABASE_URL=", "ORDERS_DATABASE_URL_FILE="+path)
	env.ServiceOf(p).Credit(t, e2e.Alice, "1.00")
}

// The system's CAs are those in a file that this variable names.
func TestServe_TrustsAPrivateCA(t *testing.T) {
	t.Parallel()
	env, authority := e2e.NewEnv(t), testcert.NewAuthority(t)
	_, keys := e2e.Fetch(t, env.JWKSURL)
	issuer := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(keys))
	}))
	issuer.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{authority.Server(t).TLS(t)}}
	issuer.StartTLS()
	t.Cleanup(issuer.Close)
	path := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(path, authority.PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	env.StartProcess(t, e2e.BuildOrders(t), "ORDERS_JWKS_URL="+issuer.URL, "SSL_CERT_FILE="+path)
}
