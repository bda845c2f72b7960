package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	devissuer "example.com/orders/internal/dev/issuer"
	"example.com/orders/migrations"
)

// drainNotice is how long a process that was told to stop says "not ready" before it
// stops listening.
const drainNotice = time.Second

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

// refused runs a binary that must exit with status 1, soon, and returns its error message.
func refused(t *testing.T, binary string, environ []string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(systemEnviron(), environ...), &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		t.Errorf("%s: it did not exit by itself", cmd)
	}
	if cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("%s: %v, want exit status 1; it printed %s%s", cmd, err, &stdout, &stderr)
	}
	message, named := strings.CutPrefix(stderr.String(), filepath.Base(binary)+": ")
	if !named {
		t.Errorf("%s: the error does not begin with the name of the program: %s", cmd, &stderr)
	}
	return strings.TrimSuffix(message, "\n")
}

// says runs a binary that must succeed, and returns what it prints.
func says(t *testing.T, binary string, environ []string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Env = append(systemEnviron(), environ...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", cmd, err)
	}
	return string(out)
}

// systemEnviron returns what any program needs, and nothing of ours.
func systemEnviron() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
}

func TestServeRefusesASchemaThatIsNotCurrent(t *testing.T) {
	t.Parallel()
	binary := buildOrders(t)
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
			if said := refused(t, binary, w.environ(), "serve"); !strings.Contains(said, "orders migrate up") {
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
	said := refused(t, buildOrders(t), nil, "serve")
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
	orders, dev := buildOrders(t), buildDev(t)
	for _, variable := range []string{"ORDERS_ADDR", "ORDERS_ADMIN_ADDR"} {
		for _, command := range [][]string{{orders, "serve"}, {dev, "--dir", t.TempDir()}} {
			t.Run(filepath.Base(command[0])+" "+variable, func(t *testing.T) {
				t.Parallel()
				said := refused(t, command[0], w.environ(variable+"="+addr), command[1:]...)
				if !strings.Contains(said, addr) || !strings.Contains(said, variable) || strings.Contains(said, "\n") {
					t.Errorf("not one sentence about %s and %s: %s", addr, variable, said)
				}
			})
		}
	}
}

func TestServeDoesNotTellThePassword(t *testing.T) {
	t.Parallel()
	binary := buildOrders(t)
	w := newWorld(t)
	for name, url := range map[string]string{
		"nobody listens": "postgres://orders:hunter2@127.0.0.1:1/orders?connect_timeout=2",
		"bad parameter":  "postgres://orders:hunter2@127.0.0.1:1/orders?pool_max_conns=many",
		"bad port":       "postgres://orders:hunter2@127.0.0.1:port/orders",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, command := range [][]string{{"serve"}, {"migrate", "up"}, {"migrate", "down"}, {"migrate", "version"}} {
				if said := refused(t, binary, w.environ("ORDERS_DATABASE_URL="+url), command...); strings.Contains(said, "hunter2") {
					t.Errorf("orders %s: %s", strings.Join(command, " "), said)
				}
			}
		})
	}
}

func TestMigrateUpAndDownAndUpAgain(t *testing.T) {
	t.Parallel()
	binary := buildOrders(t)
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
		if got := says(t, binary, environ, args...); got != want {
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
	binary := buildOrders(t)
	w := newWorld(t).emptied()
	const processes = 4
	ends := make(chan error, processes)
	for range processes {
		go func() {
			cmd := exec.CommandContext(t.Context(), binary, "migrate", "up")
			cmd.Env = append(systemEnviron(), w.environ()...)
			ends <- cmd.Run()
		}()
	}
	for range processes {
		if err := receive(t, ends, "a migration ends"); err != nil {
			t.Error(err)
		}
	}
	if got, want := says(t, binary, w.environ(), "migrate", "version"), fmt.Sprintf("schema version %d of %[1]d\n", newest(t)); got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}

func TestCommandsThatCannotBeUnderstood(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	orders, dev := buildOrders(t), buildDev(t)
	for _, c := range []struct {
		binary string
		args   []string
		// words are what the answer has to say.
		words []string
	}{
		{orders, nil, []string{"no command", "orders help"}},
		{orders, []string{"fly"}, []string{`"fly"`, "orders help"}},
		{orders, []string{"migrate"}, []string{"up|down|version"}},
		{orders, []string{"migrate", "up", "down"}, []string{"up|down|version"}},
		{orders, []string{"migrate", "up"}, []string{"ORDERS_DATABASE_URL"}},
		{dev, []string{"token", "--dir", dir}, []string{"--sub", "--role"}},
		{dev, []string{"token", "--dir", dir, "--sub", alice}, []string{"--sub", "--role"}},
		{dev, []string{"token", "--dir", dir, "--sub", alice, "--role", "king"}, []string{`"king"`, "customer, seller, admin or system"}},
		{dev, []string{"token", "--dir", dir, "--sub", alice, "--role", "customer,king"}, []string{`"king"`}},
		{dev, []string{"token", "--dir", dir, "--sub", alice, "--role", "customer"}, []string{"orders-dev"}},
		{dev, []string{"token", "--dir", dir, "--sub", alice, "--role", "customer", "more"}, []string{"--sub", "--role"}},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			t.Parallel()
			said := refused(t, c.binary, nil, c.args...)
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
	if said := refused(t, buildOrders(t), w.environ(), "migrate", "sideways"); !strings.Contains(said, `"sideways"`) || !strings.Contains(said, "up|down|version") {
		t.Errorf("it says %s", said)
	}
}

func TestHelpIsNoError(t *testing.T) {
	t.Parallel()
	for binary, commands := range map[string][]string{
		buildOrders(t): {"orders serve", "orders migrate up|down|version"},
		buildDev(t):    {"orders-dev [--dir DIR]", "orders-dev token --sub ID --role ROLE"},
	} {
		usage := says(t, binary, nil, "help")
		for _, command := range commands {
			if !strings.Contains(usage, command) {
				t.Errorf("%s help does not list %q: %s", binary, command, usage)
			}
		}
		for _, word := range []string{"-h", "--help"} {
			if said := says(t, binary, nil, word); said != usage {
				t.Errorf("%s %s: %q", binary, word, said)
			}
		}
	}
}

// What `orders token` prints is what a service that trusts dev's issuer accepts.
func TestTokenIsAcceptedByTheServiceOfDev(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	issuer, err := devissuer.New(devissuer.Config{Dir: filepath.Join(dir, "issuer"), Algorithm: "ES256"})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	newKeyServer(w, issuer.Handler().ServeHTTP)
	s := w.replica()
	dev := buildDev(t)
	printed := says(t, dev, nil, "token", "--dir", dir, "--sub", alice, "--role", "customer,seller", "--ttl", "1m")
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
	old := strings.TrimSpace(says(t, dev, nil, "token", "--dir", dir, "--sub", alice, "--role", "customer", "--ttl", "-1m"))
	s.wantProblem(http.StatusUnauthorized, "unauthenticated", balanceCall(old))
}

// Serve ends when it is told to, and gives its ports back.
func TestServeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.startProcess(buildOrders(t))
	asked := time.Now()
	p.wantEnd(p.terminate(), patience)
	if took := time.Since(asked); took < drainNotice {
		t.Errorf("it ended after %v, and nobody could notice", took)
	}
	addr := strings.TrimPrefix(p.url, "http://")
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatalf("the port is still taken: %v", err)
	}
	_ = ln.Close()
}
