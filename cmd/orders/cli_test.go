package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/orders/internal/devserver"
	"example.com/orders/migrations"
)

// newest is the version that the binary needs.
func newest(t testing.TB) uint {
	t.Helper()
	version, err := migrations.Newest()
	if err != nil {
		t.Fatal(err)
	}
	return version
}

// emptied takes all from the world's database, as a new one is.
func (w *world) emptied() *world {
	w.exec(`DROP SCHEMA public CASCADE`)
	w.exec(`CREATE SCHEMA public`)
	w.exec(`DROP SCHEMA IF EXISTS river CASCADE`)
	return w
}

// refused runs a command that must end with an error, soon, and gives what it says.
func refused(t *testing.T, environ []string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var out bytes.Buffer
	err := run(ctx, args, environ, &out)
	if err == nil {
		t.Fatalf("orders %s: no error, and it says %s", strings.Join(args, " "), out.String())
	}
	if ctx.Err() != nil {
		t.Errorf("orders %s: it did not end by itself", strings.Join(args, " "))
	}
	return err.Error()
}

// says runs a command that must succeed, and gives what it says.
func says(t *testing.T, environ []string, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	if err := run(t.Context(), args, environ, &out); err != nil {
		t.Fatalf("orders %s: %v", strings.Join(args, " "), err)
	}
	return out.String()
}

// anywhere are settings with which two tests never want the same port, and serve leaves
// the memory of the tests around it as it is.
func (w *world) anywhere(settings ...string) []string {
	return w.environ(append([]string{"ORDERS_ADDR=127.0.0.1:0", "ORDERS_ADMIN_ADDR=127.0.0.1:0", "GOGC=100"}, settings...)...)
}

func TestServeRefusesASchemaThatIsNotCurrent(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*world){
		"empty":  func(w *world) { w.emptied() },
		"old":    func(w *world) { w.exec(`UPDATE schema_migrations SET version = version - 1`) },
		"dirty":  func(w *world) { w.exec(`UPDATE schema_migrations SET dirty = true`) },
		"no row": func(w *world) { w.exec(`DELETE FROM schema_migrations`) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			spoil(w)
			if said := refused(t, w.anywhere(), "serve"); !strings.Contains(said, "orders migrate up") {
				t.Errorf("it does not say what helps: %s", said)
			}
		})
	}
}

// A newer schema will do, for an upgrade migrates first; an older one means that
// somebody took the database away under a running service.
func TestReadinessWatchesTheSchema(t *testing.T) {
	t.Parallel()
	s := newService(t)
	ready := call{method: "GET", path: "/health/ready"}
	status := func(change string) int {
		s.exec(`UPDATE schema_migrations SET ` + change)
		return s.send(ready).status
	}
	for _, c := range []struct {
		change string
		want   int
	}{
		{"version = version", http.StatusOK},
		{"version = version + 1", http.StatusOK},
		{"version = version - 2", http.StatusServiceUnavailable},
		{"version = version + 1, dirty = true", http.StatusServiceUnavailable},
		{"dirty = false", http.StatusOK},
	} {
		if got := status(c.change); got != c.want {
			t.Errorf("after %s: status %d, want %d", c.change, got, c.want)
		}
	}
}

func TestServeSaysAllThatIsMissing(t *testing.T) {
	t.Parallel()
	said := refused(t, nil, "serve")
	for _, name := range []string{"ORDERS_DATABASE_URL", "ORDERS_JWT_ISSUER", "ORDERS_JWT_AUDIENCE", "ORDERS_JWKS_URL"} {
		if !strings.Contains(said, name) {
			t.Errorf("%s is not named: %s", name, said)
		}
	}
}

func TestPortInUseIsOneSentence(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	addr := taken.Addr().String()
	for _, variable := range []string{"ORDERS_ADDR", "ORDERS_ADMIN_ADDR"} {
		for _, command := range [][]string{{"serve"}, {"dev", "--dir", t.TempDir()}} {
			t.Run(command[0]+" "+variable, func(t *testing.T) {
				t.Parallel()
				said := refused(t, w.anywhere(variable+"="+addr), command...)
				if !strings.Contains(said, addr) || !strings.Contains(said, variable) || strings.Contains(said, "\n") {
					t.Errorf("not one sentence about %s and %s: %s", addr, variable, said)
				}
			})
		}
	}
}

func TestServeDoesNotTellThePassword(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, url := range map[string]string{
		"nobody listens": "postgres://orders:hunter2@127.0.0.1:1/orders?connect_timeout=2",
		"bad parameter":  "postgres://orders:hunter2@127.0.0.1:1/orders?pool_max_conns=many",
		"bad port":       "postgres://orders:hunter2@127.0.0.1:port/orders",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, command := range [][]string{{"serve"}, {"migrate", "up"}, {"migrate", "down"}, {"migrate", "version"}} {
				if said := refused(t, w.anywhere("ORDERS_DATABASE_URL="+url), command...); strings.Contains(said, "hunter2") {
					t.Errorf("orders %s: %s", strings.Join(command, " "), said)
				}
			}
		})
	}
}

func TestMigrateUpAndDownAndUpAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t).emptied()
	environ := w.environ()
	version := func(n uint) string { return fmt.Sprintf("schema version %d of %d\n", n, newest(t)) }
	things := func() int {
		return w.count(`
			SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') AND c.relname NOT LIKE 'schema_migrations%'`) +
			w.count(`SELECT count(*) FROM pg_namespace WHERE nspname NOT LIKE 'pg_%' AND nspname NOT IN ('public', 'information_schema')`) +
			w.count(`SELECT count(*) FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE n.nspname = 'public' AND t.typname NOT LIKE '%schema_migrations'`)
	}
	wantSaid := func(want string, args ...string) {
		t.Helper()
		if got := says(t, environ, args...); got != want {
			t.Errorf("orders %s: %q, want %q", strings.Join(args, " "), got, want)
		}
	}
	wantSaid(version(0), "migrate", "version")
	wantSaid(version(newest(t)), "migrate", "up")
	wantSaid(version(newest(t)), "migrate", "up")
	wantSaid(version(newest(t)), "migrate", "version")
	if things() == 0 {
		t.Fatal("after up there is nothing in the database")
	}
	for n := newest(t); n > 0; n-- {
		wantSaid(version(n-1), "migrate", "down")
	}
	if n := things(); n != 0 {
		t.Errorf("down leaves %d things in the database", n)
	}
	wantSaid(version(newest(t)), "migrate", "up")
	s := w.replica()
	s.credit(alice, "1.00")
}

func TestTwoMigrationsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t).emptied()
	const processes = 4
	ends := make(chan error, processes)
	for range processes {
		go func() { ends <- run(t.Context(), []string{"migrate", "up"}, w.environ(), io.Discard) }()
	}
	for range processes {
		if err := receive(t, ends, "a migration ends"); err != nil {
			t.Error(err)
		}
	}
	if got, want := says(t, w.environ(), "migrate", "version"), fmt.Sprintf("schema version %d of %[1]d\n", newest(t)); got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}

func TestCommandsThatCannotBeUnderstood(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, c := range []struct {
		args []string
		// words are what the answer has to say.
		words []string
	}{
		{nil, []string{"no command", "orders help"}},
		{[]string{"fly"}, []string{`"fly"`, "orders help"}},
		{[]string{"migrate"}, []string{"up|down|version"}},
		{[]string{"migrate", "up", "down"}, []string{"up|down|version"}},
		{[]string{"migrate", "up"}, []string{"ORDERS_DATABASE_URL"}},
		{[]string{"token", "--dir", dir}, []string{"--sub", "--role"}},
		{[]string{"token", "--dir", dir, "--sub", alice}, []string{"--sub", "--role"}},
		{[]string{"token", "--dir", dir, "--sub", alice, "--role", "king"}, []string{`"king"`, "customer, seller, admin or system"}},
		{[]string{"token", "--dir", dir, "--sub", alice, "--role", "customer,king"}, []string{`"king"`}},
		{[]string{"token", "--dir", dir, "--sub", alice, "--role", "customer"}, []string{"orders dev"}},
		{[]string{"token", "--dir", dir, "--sub", alice, "--role", "customer", "more"}, []string{"--sub", "--role"}},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			t.Parallel()
			said := refused(t, nil, c.args...)
			for _, word := range c.words {
				if !strings.Contains(said, word) {
					t.Errorf("it does not say %q: %s", word, said)
				}
			}
		})
	}
}

func TestMigrateRefusesOtherDirections(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if said := refused(t, w.environ(), "migrate", "sideways"); !strings.Contains(said, `"sideways"`) || !strings.Contains(said, "up|down|version") {
		t.Errorf("it says %s", said)
	}
}

func TestHelpIsNoError(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"help", "-h", "--help"} {
		if said := says(t, nil, word); said != usage {
			t.Errorf("orders %s: %q", word, said)
		}
	}
}

// What `orders token` prints is what a service that trusts dev's issuer accepts.
func TestTokenIsAcceptedByTheServiceOfDev(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	issuer, err := devserver.NewIssuer(devserver.IssuerConfig{Dir: issuerDir(dir), Algorithm: "ES256"})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	newKeyServer(w, issuer.Handler().ServeHTTP)
	s := w.replica()
	printed := says(t, nil, "token", "--dir", dir, "--sub", alice, "--role", "customer,seller", "--ttl", "1m")
	token := strings.TrimSuffix(printed, "\n")
	if strings.ContainsAny(token, " \n") {
		t.Errorf("it prints more than the token: %q", printed)
	}
	if r := s.send(balanceCall(token)); r.status != http.StatusOK {
		t.Errorf("status %d: %s", r.status, r.body)
	}
	if r := s.send(call{method: "GET", path: "/customers/alice/profile", token: token}); r.code() != "not_found" {
		t.Errorf("as a customer without a profile: %d %s", r.status, r.body)
	}
	old := strings.TrimSpace(says(t, nil, "token", "--dir", dir, "--sub", alice, "--role", "customer", "--ttl", "-1m"))
	s.wantProblem(http.StatusUnauthorized, "unauthenticated", balanceCall(old))
}

// Serve ends when it is told to, and gives its ports back.
func TestServeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	addr := freeAddr(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	var log lockedBuffer
	go func() { ended <- run(ctx, []string{"serve"}, w.anywhere("ORDERS_ADDR="+addr), &log) }()
	s := &service{world: w, url: "http://" + addr}
	eventually(t, "ready", func() bool {
		r, err := s.try(t.Context(), call{method: "GET", path: "/health/ready"})
		return err == nil && r.status == http.StatusOK
	})
	asked := time.Now()
	cancel()
	if err := receive(t, ended, "serve ends"); err != nil {
		t.Error(err)
	}
	if took := time.Since(asked); took < drainNotice {
		t.Errorf("it ended after %v, and nobody could notice", took)
	}
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatalf("the port is still taken: %v", err)
	}
	_ = ln.Close()
}
