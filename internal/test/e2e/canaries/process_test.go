package canaries_test

import (
	"bytes"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	natsserver "github.com/nats-io/nats-server/v2/server"

	"example.com/orders/internal/test/e2e"
	pgtest "example.com/orders/internal/test/pg"
)

// output is what a command prints. It stops a service that waits for its database.
type output struct {
	printed []byte
	stop    func()
	waiting bool
}

func (o *output) Write(p []byte) (int, error) {
	o.printed = append(o.printed, p...)
	if !o.waiting && bytes.Contains(o.printed, []byte("waiting for the database")) {
		o.waiting = true
		o.stop()
	}
	return len(p), nil
}

// failing runs a command that must fail, or wait for its database, and returns all that it
// prints.
func failing(t *testing.T, environ []string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), e2e.BuildOrders(t), args...)
	out := &output{stop: func() { _ = cmd.Process.Signal(syscall.SIGTERM) }}
	cmd.Env, cmd.Stdout, cmd.Stderr = environ, out, out
	if err := cmd.Run(); err == nil && !out.waiting {
		t.Fatalf("%s succeeds: %s", cmd, out.printed)
	}
	return string(out.printed)
}

// useDatabaseWithPasswords moves the environment to a server that asks a role for its
// password, and returns the URL of that role with another password.
func useDatabaseWithPasswords(t *testing.T, env *e2e.Env, password string) (wrong string) {
	t.Helper()
	server := pgtest.NewCluster(t, nil)
	env.DatabaseURL = pgtest.NewOn(t, server)
	env.Connect(t)
	env.Exec(t, `CREATE ROLE guest LOGIN PASSWORD 'another'`)
	var file string
	if err := env.DB.QueryRow(t.Context(), `SHOW hba_file`).Scan(&file); err != nil {
		t.Fatal(err)
	}
	rules, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append([]byte("host all guest all scram-sha-256\n"), rules...), 0o600); err != nil {
		t.Fatal(err)
	}
	env.Exec(t, `SELECT pg_reload_conf()`)
	u, err := url.Parse(env.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("guest", password)
	return u.String()
}

func TestCommands_PrintNoSecretWhenTheyFail(t *testing.T) {
	t.Parallel()
	n, env := &nest{}, e2e.NewEnv(t)
	plant := func(sort string) string { return n.plant(sort, "a setting") }
	password := plant("database password")
	wrong := useDatabaseWithPasswords(t, env, password)
	for _, command := range [][]string{{"serve"}, {"migrate", "up"}} {
		for name, settings := range map[string][]string{
			"a wrong password":      {"ORDERS_DATABASE_URL=" + wrong},
			"nobody there":          {"ORDERS_DATABASE_URL=postgres://guest:" + password + "@127.0.0.1:1/orders"},
			"key=value":             {"ORDERS_DATABASE_URL=host=127.0.0.1 port=1 user=guest password=" + password + " dbname=orders"},
			"key=value, no quote":   {"ORDERS_DATABASE_URL=host=127.0.0.1 port=1 password='" + password},
			"an @ in the password":  {"ORDERS_DATABASE_URL=postgres://guest:x@" + password + "@127.0.0.1:1/orders"},
			"a / in the password":   {"ORDERS_DATABASE_URL=postgres://guest:1/" + password + "@127.0.0.1:1/orders"},
			"a space in the URL":    {"ORDERS_DATABASE_URL=postgres://guest:x " + password + "@127.0.0.1:1/orders"},
			"another database":      {"ORDERS_DATABASE_URL=mysql://guest:" + password + "@127.0.0.1/orders"},
			"a parameter":           {"ORDERS_DATABASE_URL=postgres://guest:" + password + "@127.0.0.1:1/orders?connect_timeout=" + password},
			"a name that is no one": {"ORDERS_DATABASE_URL=" + wrong, "ORDERS_STRIPE_KEYS=" + plant("provider key")},
			"other secrets too": {
				"ORDERS_DATABASE_URL=" + wrong, "ORDERS_NATS_URL=nats://orders:" + plant("broker password") + "@127.0.0.1:x", "ORDERS_STRIPE_KEY=" + plant("provider key"),
				"ORDERS_STRIPE_URL=http://" + plant("provider key") + "@provider.example", "ORDERS_JWKS_URL=http://u:" + plant("bearer token") + "@issuer.example",
			},
		} {
			printed := failing(t, env.Environ(t, settings...), command...)
			if leaks := n.search(printed); len(leaks) > 0 || strings.Contains(printed, password) {
				t.Errorf("orders %s with %s prints a %s: %s", strings.Join(command, " "), name, password, printed)
			}
		}
	}
}

// startBrokerWithPassword starts a broker that refuses everybody who does not know its
// password.
func startBrokerWithPassword(t *testing.T) (addr string) {
	t.Helper()
	server, err := natsserver.NewServer(&natsserver.Options{
		Host: "127.0.0.1", Port: natsserver.RANDOM_PORT, NoSigs: true, JetStream: true, StoreDir: t.TempDir(),
		Username: "orders", Password: "another",
	})
	if err != nil {
		t.Fatal(err)
	}
	server.Start()
	t.Cleanup(func() {
		server.Shutdown()
		server.WaitForShutdown()
	})
	e2e.Eventually(t, "the broker listens", func() bool { return server.Addr() != nil })
	tcp, ok := server.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatalf("the broker listens on %v", server.Addr())
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
}

func TestLog_HasNoPasswordThatTheBrokerRefuses(t *testing.T) {
	t.Parallel()
	n, env := &nest{}, e2e.NewEnv(t)
	password := n.plant("broker password", "ORDERS_NATS_URL")
	p := env.StartProcess(t, e2e.BuildOrders(t), "ORDERS_LOG_LEVEL=trace",
		"ORDERS_NATS_URL=nats://orders:"+password+"@"+startBrokerWithPassword(t))
	s := env.ServiceOf(p)
	s.PutProduct(t, "tea", 1)
	s.MustCreateOrder(t, e2e.Alice, "tea", 1) // whose event cannot be published
	e2e.Eventually(t, "the process complains about the broker", func() bool {
		return strings.Contains(p.Log(), `"level":"warn"`) || strings.Contains(p.Log(), `"level":"error"`)
	})
	(&searcher{nest: n}).wantClean(t, "log", p.Log())
}
