package canaries_test

import (
	"bytes"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"example.com/orders/internal/test/e2e"
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

func TestCommands_PrintNoSecretWhenTheyFail(t *testing.T) {
	t.Parallel()
	n, env := &nest{}, e2e.NewEnv(t)
	plant := func(sort string) string { return n.plant(sort, "a setting") }
	password := plant("database password")
	nobody := "postgres://guest:" + password + "@127.0.0.1:1/orders"
	for _, command := range [][]string{{"serve"}, {"migrate", "up"}} {
		for name, settings := range map[string][]string{
			"nobody there":          {"ORDERS_DATABASE_URL=" + nobody},
			"key=value":             {"ORDERS_DATABASE_URL=host=127.0.0.1 port=1 user=guest password=" + password + " dbname=orders"},
			"key=value, no quote":   {"ORDERS_DATABASE_URL=host=127.0.0.1 port=1 password='" + password},
			"an @ in the password":  {"ORDERS_DATABASE_URL=postgres://guest:x@" + password + "@127.0.0.1:1/orders"},
			"a / in the password":   {"ORDERS_DATABASE_URL=postgres://guest:1/" + password + "@127.0.0.1:1/orders"},
			"a space in the URL":    {"ORDERS_DATABASE_URL=postgres://guest:x " + password + "@127.0.0.1:1/orders"},
			"another database":      {"ORDERS_DATABASE_URL=mysql://guest:" + password + "@127.0.0.1/orders"},
			"a parameter":           {"ORDERS_DATABASE_URL=postgres://guest:" + password + "@127.0.0.1:1/orders?connect_timeout=" + password},
			"a name that is no one": {"ORDERS_DATABASE_URL=" + nobody, "ORDERS_STRIPE_KEYS=" + plant("provider key")},
			"other secrets too": {
				"ORDERS_DATABASE_URL=" + nobody, "ORDERS_NATS_URL=nats://orders:" + plant("broker password") + "@127.0.0.1:x", "ORDERS_STRIPE_KEY=" + plant("provider key"),
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
