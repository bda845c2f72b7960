//go:build node

// Package recipes runs the programs in docs/use.md for other HTTP clients, through a proxy that
// loses requests and responses, and answers for the service. It also runs the receivers in
// kit/webhooks.
package recipes

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	_ "github.com/hashicorp/go-retryablehttp" // for the program on the page

	"example.com/orders/internal/test/e2e"
	pgtest "example.com/orders/internal/test/pg"
	"example.com/orders/lab/kit/lossy"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// recipe matches a heading, and the language and text of its program.
var recipe = regexp.MustCompile("(?s)\n### (\\S+)\n.*?```(\\w+)\n(.*?)\n```\n")

// runs maps languages to the commands that check for their libraries, and run a program.
var runs = map[string][2]string{
	"js": {"node --version", "node --input-type=module"}, "bash": {"curl --version", "bash -e"},
	"python": {"python3 -c 'import urllib3'", "python3 -"}, "go": {"go version", `cat >"$TMP/main.go" && go run "$TMP/main.go"`},
}

func TestRecipes_MakeOneOrderWhateverIsLost(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/use.md")
	_, section, found := strings.Cut(string(page), "\n## Other HTTP clients\n")
	section, _, _ = strings.Cut(section, "\n## ")
	recipes := recipe.FindAllStringSubmatch(section, -1)
	if headings := strings.Count(section, "\n### "); !found || headings == 0 || len(recipes) != headings {
		t.Fatalf("%d of %d recipes have a program, err = %v", len(recipes), headings, err)
	}
	s := e2e.StartShop(t, e2e.Stock{"tea": 100})
	for _, match := range recipes {
		t.Run(match[1], func(t *testing.T) {
			t.Parallel()
			needs, run := runs[match[2]][0], runs[match[2]][1]
			if output, err := exec.CommandContext(t.Context(), "sh", "-c", needs).CombinedOutput(); err != nil {
				t.Skipf("NOT CHECKED: %s: %s", needs, output)
			}
			proxy := lossy.New(t, s.URL, 1)
			// A refusal ends a program.
			foreign := slices.DeleteFunc(slices.Clone(lossy.Foreign), func(f lossy.Fault) bool { return f == lossy.Refuse })
			proxy.Faults = slices.Concat(foreign, lossy.Losses)
			for _, faults := range [][]lossy.Fault{foreign, lossy.Losses} { // the second run repeats the operation
				proxy.First = append(slices.Clone(faults), lossy.Pass)
				cmd := exec.CommandContext(t.Context(), "sh", "-c", run)
				cmd.Stdin, cmd.Stderr = strings.NewReader(match[3]), t.Output()
				cmd.Env = append(os.Environ(), "ORDERS="+proxy.URL, "CUSTOMER="+s.Token(t, match[1], "customer"), "KEY="+match[1], "TMP="+t.TempDir())
				if printed, err := cmd.Output(); err != nil || !strings.Contains(string(printed), "pending_payment") {
					t.Errorf("%v, printed %s", err, printed)
				}
			}
			proxy.RequireFaults(t)
			if n := s.Count(t, `SELECT count(*) FROM orders WHERE customer_id = $1`, match[1]); n != 1 {
				t.Errorf("%d orders, want 1", n)
			}
		})
	}
}
