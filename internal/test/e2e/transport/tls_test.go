package transport_test

import (
	"crypto/tls"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"example.com/orders/cmd/orders/app"
	"example.com/orders/internal/config"
	testcert "example.com/orders/internal/test/cert"
	"example.com/orders/internal/test/e2e"
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
