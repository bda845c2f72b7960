package app

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"

	"example.com/orders/internal/adapters/in/jobs"
	"example.com/orders/internal/config"
	devissuer "example.com/orders/internal/dev/issuer"
	"example.com/orders/internal/observe/metrics"
	testcert "example.com/orders/internal/test/cert"
	testlog "example.com/orders/internal/test/log"
	pgtest "example.com/orders/internal/test/pg"
	"example.com/orders/migrations"
)

// Without these limits, a client that sends a byte now and then, or reads nothing, keeps a
// connection for ever. net/http has no such limits by default.
func TestServer_EndsSlowRequests(t *testing.T) {
	t.Parallel()
	s := server(http.NotFoundHandler(), zerolog.Nop())
	for _, limit := range []struct {
		name      string
		got, most time.Duration
	}{
		{"the header", s.ReadHeaderTimeout, 10 * time.Second},
		{"the whole request", s.ReadTimeout, 30 * time.Second},
		{"the response", s.WriteTimeout, time.Minute},
		{"the next request", s.IdleTimeout, 2 * time.Hour},
		{"the next byte of HTTP/2", s.HTTP2.WriteByteTimeout, 30 * time.Second},
	} {
		if limit.got <= 0 || limit.got > limit.most {
			t.Errorf("%s may take %v; want a limit of at most %v", limit.name, limit.got, limit.most)
		}
	}
}

// A balancer reuses connections for as long as it keeps them. If the service closes one in the
// same moment, the request stays unanswered.
func TestServer_KeepsIdleConnectionsLongerThanBalancersDo(t *testing.T) {
	t.Parallel()
	s := server(http.NotFoundHandler(), zerolog.Nop())
	for balancer, keeps := range map[string]time.Duration{
		"nginx": 75 * time.Second, "Traefik": 90 * time.Second, "Azure Application Gateway": 4 * time.Minute, "Google Cloud": 600 * time.Second,
		"Cloudflare": 900 * time.Second, "Envoy": time.Hour, "AWS, at most": 4000 * time.Second,
	} {
		if s.IdleTimeout < keeps+time.Minute {
			t.Errorf("%s keeps an idle connection for %v, the service for %v", balancer, keeps, s.IdleTimeout)
		}
	}
}

func TestServer_BoundsWhatAConnectionHolds(t *testing.T) {
	t.Parallel()
	s := server(http.NotFoundHandler(), zerolog.Nop())
	if s.MaxHeaderBytes <= 0 || s.MaxHeaderBytes > 32<<10 {
		t.Errorf("a header may have %d bytes", s.MaxHeaderBytes)
	}
	if s.HTTP2.MaxConcurrentStreams != 100 {
		t.Errorf("a connection may have %d streams, want 100", s.HTTP2.MaxConcurrentStreams)
	}
}

// A connection can be older than its certificate may be used.
func TestClientCertificate_IsCheckedForAsLongAsItsConnectionIsOpen(t *testing.T) {
	t.Parallel()
	ca, now := testcert.NewAuthority(t), time.Now()
	leaf := ca.Client(t, now.Add(10*time.Minute)).TLS(t).Leaf
	chains, err := leaf.Verify(x509.VerifyOptions{Roots: ca.Pool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		after time.Duration
		roots *x509.CertPool
		want  bool
	}{
		"at once":              {0, ca.Pool(), true},
		"expired":              {11 * time.Minute, ca.Pool(), false},
		"CA expired":           {2 * time.Hour, ca.Pool(), false},
		"CA replaced":          {0, testcert.NewAuthority(t).Pool(), false},
		"clock before its day": {-24 * time.Hour, ca.Pool(), false},
	} {
		if got := isValidAt(now.Add(c.after), chains[0], c.roots); got != c.want {
			t.Errorf("%s: valid = %v, want %v", name, got, c.want)
		}
	}
}

func TestCertificates_LogAChangeThatCannotBeUsedOnce(t *testing.T) {
	t.Parallel()
	dir, pair := t.TempDir(), testcert.NewAuthority(t).Server(t)
	cfg := config.Config{TLSCert: filepath.Join(dir, "tls.crt"), TLSKey: filepath.Join(dir, "tls.key")}
	for path, content := range map[string][]byte{cfg.TLSCert: pair.Cert, cfg.TLSKey: pair.Key} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var log testlog.Buffer
	certs, err := newCertificates(cfg, zerolog.New(&log))
	if err != nil {
		t.Fatal(err)
	}
	before := certs.latest()

	if err := os.WriteFile(cfg.TLSKey, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		certs.checked = time.Time{} // the interval has passed
		if certs.latest() != before {
			t.Error("the pair that works is not in use any more")
		}
	}

	lines := log.Lines(t)
	if len(lines) != 1 || lines[0]["message"] != "tls certificate reload failed" {
		t.Errorf("the log is %v, want one failure", lines)
	}
}

// adminStatus returns how an admin listener at an address answers a request to a host.
func adminStatus(path, address, host string) int {
	a := &App{metrics: metrics.New(zerolog.Nop()), handler: http.NotFoundHandler(), adminHost: "orders.internal"}
	r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
	r.Host = host
	w := httptest.NewRecorder()
	a.adminHandler(&net.TCPAddr{IP: net.ParseIP(address), Port: 9090}).ServeHTTP(w, r)
	return w.Code
}

// A page that a browser of this machine shows can give its own name the address 127.0.0.1.
// Elsewhere, Prometheus and the kubelet ask for a pod's address or for a Service's name.
func TestAdmin_OnLoopbackRefusesForeignHosts(t *testing.T) {
	t.Parallel()
	foreign := []string{
		"attacker.example", "attacker.example:9090", "localhost.attacker.example", "127.0.0.1.attacker.example:9090",
		"localhost:attacker.example", "192.0.2.7:9090", "0.0.0.0:9090", "[::]:9090",
	}
	local := []string{
		"127.0.0.1:9090", "127.0.0.1", "127.8.0.2:9090", "localhost:9090", "LOCALHOST", "[::1]:9090", "[::1]",
		"orders.internal:9090", "",
	}
	for _, c := range []struct {
		addresses, hosts []string
		want             int
	}{
		{[]string{"127.0.0.1", "127.8.0.2", "::1"}, foreign, http.StatusForbidden},
		{[]string{"127.0.0.1", "127.8.0.2", "::1"}, local, http.StatusOK},
		{[]string{"0.0.0.0", "::", "10.1.2.3"}, append(foreign, local...), http.StatusOK},
	} {
		for _, address := range c.addresses {
			for _, host := range c.hosts {
				if got := adminStatus("/metrics", address, host); got != c.want {
					t.Errorf("on %s for %q: status %d, want %d", address, host, got, c.want)
				}
			}
		}
	}
	for _, path := range []string{"/debug/pprof/", "/health/ready"} {
		if got := adminStatus(path, "127.0.0.1", "attacker.example"); got != http.StatusForbidden {
			t.Errorf("%s: status %d, want 403", path, got)
		}
	}
}

// Metrics have more readers than customers' orders.
func TestAdmin_ServesSupportToThisMachine(t *testing.T) {
	t.Parallel()
	a := &App{metrics: metrics.New(zerolog.Nop()), handler: http.NotFoundHandler()}
	for _, c := range []struct {
		method, client, host string
		want                 int
	}{
		{http.MethodGet, "127.0.0.1:5000", "localhost:9090", http.StatusOK},
		{http.MethodGet, "[::1]:5000", "localhost:9090", http.StatusOK},
		{http.MethodGet, "10.1.2.3:5000", "localhost:9090", http.StatusForbidden},
		{http.MethodGet, "127.0.0.1:5000", "attacker.example", http.StatusForbidden},
		{http.MethodPost, "127.0.0.1:5000", "localhost:9090", http.StatusMethodNotAllowed},
	} {
		r := httptest.NewRequest(c.method, "/support", http.NoBody)
		r.RemoteAddr, r.Host = c.client, c.host
		w := httptest.NewRecorder()
		a.adminHandler(&net.TCPAddr{IP: net.IPv4zero, Port: 9090}).ServeHTTP(w, r)
		if w.Code != c.want || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%+v: status %d, %v", c, w.Code, w.Header())
		}
	}
}

// newDraining returns an app without jobs, and its log.
func newDraining(t *testing.T) (*App, *testlog.Buffer) {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), "postgres://127.0.0.1:1/none") // connects to nothing
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	runner, err := jobs.New(jobs.Config{Pool: pool, Schema: migrations.RiverSchema, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	log := &testlog.Buffer{}
	return &App{jobs: runner, log: zerolog.New(log)}, log
}

// serveBlocked serves one request until release is closed.
func serveBlocked(t *testing.T, a *App, release <-chan struct{}) *http.Server {
	t.Helper()
	arrived := make(chan struct{})
	public := server(a.counted(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(arrived)
		<-release
	})), zerolog.Nop())
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = public.Serve(ln) }()
	go func() {
		resp, err := http.Get("http://" + ln.Addr().String())
		if err == nil {
			_ = resp.Body.Close()
		}
	}()
	<-arrived
	return public
}

func TestDrain_AsksClientsToConnectElsewhere(t *testing.T) {
	t.Parallel()
	a, _ := newDraining(t)
	public := httptest.NewServer(a.counted(http.NotFoundHandler()))
	defer public.Close()
	for _, draining := range []bool{false, true} {
		a.draining.Store(draining)
		resp, err := public.Client().Get(public.URL)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.Close != draining {
			t.Errorf("draining = %v: the connection ends = %v", draining, resp.Close)
		}
	}
}

// The tests of processes see what is logged when all requests end.
func TestDrain_LogsRequestsThatItCutsOff(t *testing.T) {
	t.Parallel()
	a, log := newDraining(t)
	release := make(chan struct{})
	defer close(release)
	public := serveBlocked(t, a, release)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	if err := a.drain(ctx, public); err == nil {
		t.Error("drain returned no error")
	}

	line := log.Lines(t)[0]
	if line["message"] != "drained" || line["level"] != "warn" || line["requests"] != 1.0 || line["requests_cut_off"] != 1.0 ||
		line["jobs"] != 0.0 || line["jobs_cut_off"] != 0.0 || line["duration_ms"] == nil {
		t.Errorf("the line is %v", line)
	}
}

func TestReadiness_IsCheckedOnceASecondWhateverTheLoad(t *testing.T) {
	t.Parallel()
	var checks int
	now := time.Now()
	down := errors.New("the database is down")
	r := &readiness{now: func() time.Time { return now }, check: func(context.Context) error { checks++; return down }}
	askers := func() {
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				if err := r.get(t.Context()); !errors.Is(err, down) {
					t.Errorf("got %v, want %v", err, down)
				}
			})
		}
		all.Wait()
	}
	for second := 1; second <= 3; second++ {
		askers()
		now = now.Add(readyFor - 1)
		askers()
		if checks != second {
			t.Errorf("%d checks in %d seconds", checks, second)
		}
		now = now.Add(1)
	}
}

func TestReadiness_DoesNotDependOnWhoAsks(t *testing.T) {
	t.Parallel()
	r := &readiness{now: time.Now, check: func(ctx context.Context) error { return ctx.Err() }}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if err := r.get(gone); err != nil {
		t.Errorf("one who hangs up makes the process unready: %v", err)
	}
}

func TestReady_ReportsDrainingAtOnce(t *testing.T) {
	t.Parallel()
	a := &App{readiness: &readiness{now: time.Now, check: func(context.Context) error { return nil }}}
	if err := a.ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.draining.Store(true)
	if err := a.ready(t.Context()); err == nil {
		t.Error("a process that is shutting down is ready")
	}
}

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestReadiness_ReturnsSoonAfterTheDatabaseWasCutOff(t *testing.T) {
	t.Parallel()
	issuer, err := devissuer.New(devissuer.Config{Algorithm: "ES256"})
	if err != nil {
		t.Fatal(err)
	}
	keys := httptest.NewServer(issuer.Handler())
	defer keys.Close()
	network, service := pgtest.NewEndpoint(t), pgtest.AsService(t, pgtest.New(t))
	network.LeadTo(t, service)
	cfg, err := config.Read([]string{
		"ORDERS_DATABASE_URL=" + pgtest.Through(t, service, network), "ORDERS_JWT_ISSUER=" + devissuer.Name,
		"ORDERS_JWT_AUDIENCE=" + devissuer.Audience, "ORDERS_JWKS_URL=" + keys.URL + devissuer.JWKSPath,
	})
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(t.Context(), cfg, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := a.ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	network.Freeze()
	for range 2 {
		a.readiness.until = a.readiness.now() // the result is too old
		if err := a.ready(t.Context()); err == nil {
			t.Fatal("the process is ready without a database")
		}
	}
	network.Thaw()
	const tries = 3 // the driver does not close the connection that was cut within six seconds
	for range tries {
		a.readiness.until = a.readiness.now()
		if err = a.ready(t.Context()); err == nil {
			return
		}
	}
	t.Errorf("the process is not ready after %d checks: %v", tries, err)
}
