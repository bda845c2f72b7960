// Package shop_test kills the example program of the Go client at every command.
package shop_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/test/e2e"
	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// buildShop builds the program and returns its path.
func buildShop(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "shop")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", path, "example.com/orders/kit/client/examples/shop")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, out)
	}
	return path
}

// killer passes requests to the service. It kills the program at its command number at,
// before the service gets that, or after the service has answered.
type killer struct {
	URL    string
	shop   chan *os.Process // that runs
	at     int
	before bool

	commands, killed int
}

func startKiller(t *testing.T, service string) *killer {
	t.Helper()
	target, err := url.Parse(service)
	if err != nil {
		t.Fatal(err)
	}
	k := &killer{shop: make(chan *os.Process, 1)}
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			if r.In.Method == http.MethodPost {
				k.commands++ // the program sends one after the other
				k.strike(t, true)
			}
		},
		ModifyResponse: func(r *http.Response) error {
			if r.Request.Method == http.MethodPost {
				k.strike(t, false)
			}
			return nil
		},
	})
	t.Cleanup(server.Close)
	k.URL = server.URL
	return k
}

// strike kills the program with SIGKILL, and its request with it, if it is time.
func (k *killer) strike(t *testing.T, before bool) {
	t.Helper()
	if k.commands != k.at || k.before != before {
		return
	}
	if err := (<-k.shop).Kill(); err != nil {
		t.Error(err)
	}
	k.killed++
	panic(http.ErrAbortHandler)
}

// runShop runs the program until it ends or is killed, and returns what it printed.
func runShop(t *testing.T, program string, s *e2e.Service, k *killer, keys string) (out string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, "-url", k.URL, "-keys", keys, "-customer", e2e.Alice, "-cart", "4711")
	cmd.Env = append(os.Environ(),
		"SHOP_CUSTOMER_TOKEN="+s.CustomerToken(t), "SHOP_SYSTEM_TOKEN="+s.SystemToken(t))
	var printed strings.Builder
	cmd.Stdout, cmd.Stderr = &printed, &printed
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	k.shop <- cmd.Process
	err = cmd.Wait()
	return printed.String(), err
}

// commands is how many commands the program sends: a credit, and an order, a payment and a
// refund for each way to pay.
const commands = 1 + 2*3

func TestShop_TakesEffectOnceWhereverItIsKilled(t *testing.T) {
	t.Parallel()
	s := e2e.StartCardShop(t, e2e.Stock{"tea": 100})
	k, program := startKiller(t, s.URL), buildShop(t)
	keys := filepath.Join(t.TempDir(), "keys")
	for at := 1; at <= commands; at++ {
		for _, before := range []bool{true, false} {
			k.at, k.before, k.commands = at, before, 0
			if out, err := runShop(t, program, s, k, keys); err == nil {
				t.Fatalf("the program was not killed at command %d:\n%s", at, out)
			}
		}
	}
	k.at = 0
	out, err := runShop(t, program, s, k, keys)
	if err != nil || strings.Contains(out, "now") || strings.Count(out, "before") != commands {
		t.Errorf("err = %v; the last run printed:\n%s", err, out)
	}
	if k.killed != 2*commands {
		t.Errorf("killed %d times, want %d", k.killed, 2*commands)
	}

	type effects struct{ Credits, Orders, Captured, Refunds int }
	got := effects{
		s.Count(t, `SELECT count(*) FROM ledger_entry WHERE kind = 'credit'`),
		s.Count(t, `SELECT count(*) FROM orders`),
		s.Count(t, `SELECT count(*) FROM payment WHERE status = 'captured'`),
		s.Count(t, `SELECT count(*) FROM refund WHERE status = 'succeeded'`),
	}
	if diff := cmp.Diff(effects{1, 2, 2, 2}, got); diff != "" {
		t.Errorf("effects (-want +got):\n%s", diff)
	}
	s.WantBalance(t, e2e.Alice, "900.00")
}
