//go:build node

package tsclient

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/test/e2e"
)

// example returns an example of the client that buys for Alice. It keeps its keys in a
// folder below home.
func example(t *testing.T, s *e2e.Service, home, name string) *exec.Cmd {
	t.Helper()
	cmd := program(t, "examples/"+name, "basket-1")
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+home, "ORDERS_URL="+s.URL, "CUSTOMER="+e2e.Alice,
		"CUSTOMER_TOKEN="+s.CustomerToken(t), "SYSTEM_TOKEN="+s.SystemToken(t))
	return cmd
}

// lines returns what a program prints.
func lines(t *testing.T, cmd *exec.Cmd) []string {
	t.Helper()
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", cmd.Args[1:], err)
	}
	return strings.Split(strings.TrimSpace(string(output)), "\n")
}

func TestShopExample_DoesNothingTwice(t *testing.T) {
	t.Parallel()
	s := e2e.StartCardShop(t, e2e.Stock{"tea": 100})
	home := t.TempDir()

	first := lines(t, example(t, s, home, "shop"))
	second := lines(t, example(t, s, home, "shop"))

	want := []string{
		"order 1 now", "credit 1 now", "payment 1 now", "refund 1 now",
		"order 2 now", "payment 2 now", "payment 2 is captured", "refund 2 now", "refund 2 is succeeded",
	}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("the first run (-want +got):\n%s", diff)
	}
	for i := range want {
		want[i] = strings.Replace(want[i], "now", "before", 1)
	}
	if diff := cmp.Diff(want, second); diff != "" {
		t.Errorf("the second run (-want +got):\n%s", diff)
	}
}

func TestQuickstartExample_PaysOnceAfterATopUp(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 100})
	home := t.TempDir()
	run := func(want string) {
		t.Helper()
		if got := lines(t, example(t, s, home, "quickstart")); len(got) != 1 || !strings.HasPrefix(got[0], want) {
			t.Errorf("the example printed %q, want %q", got, want)
		}
	}

	run("top up and run this again")
	s.Credit(t, e2e.Alice, "250.00")
	run("paid now 200.00")
	run("paid before 200.00")

	s.WantBalance(t, e2e.Alice, "50.00")
}
