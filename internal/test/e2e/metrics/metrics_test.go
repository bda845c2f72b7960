// Package metrics_test tests that each metric of a running service is moved by what it
// measures, and that docs/metrics.md describes what the service exports.
package metrics_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"example.com/orders/internal/test/e2e"
	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestMetrics_EachIsMovedByWhatItMeasures(t *testing.T) {
	t.Parallel()
	f := start(t)
	moved := map[string]bool{}
	for _, m := range moves {
		m.run(t, f)
		after := scrape(t, f.admin)
		for series := range m.want {
			moved[after.family(series)] = true
		}
	}
	var now scraped
	e2e.Eventually(t, "the replica has recovered", func() bool {
		now = scrape(t, f.admin)
		ready, _ := now.value("orders_ready")
		up, _ := now.value("orders_database_up")
		return ready == 1 && up == 1
	})
	for family := range now.families {
		if !moved[family] {
			t.Errorf("no move moves %s", family)
		}
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for _, match := range regexp.MustCompile("(?m)^\\| `(orders_[a-z_]+)`").FindAllStringSubmatch(string(page), -1) {
		documented = append(documented, match[1])
	}
	slices.Sort(documented)
	if diff := cmp.Diff(documented, slices.Sorted(maps.Keys(now.families))); diff != "" {
		t.Errorf("docs/metrics.md describes other metrics (-documented +exported):\n%s", diff)
	}
	problems, err := promlint.New(strings.NewReader(now.text)).Lint() // the conventions of Prometheus
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

// run makes the move and waits until all of its metrics have changed as they must.
func (m move) run(t *testing.T, f *fixture) {
	t.Helper()
	before := scrape(t, f.admin)
	f.undo = func() {}
	m.do(t, f)
	defer func() { f.undo() }()
	var missing []string
	defer func() {
		if len(missing) > 0 {
			t.Logf("%s: %s", m.name, strings.Join(missing, ", "))
		}
	}()
	e2e.Eventually(t, m.name, func() bool {
		missing = nil
		now := scrape(t, f.admin)
		for series, c := range m.want {
			was, _ := before.value(series)
			value, present := now.value(series)
			if !present || !c.holds(was, value) {
				missing = append(missing, series+" "+c.says)
			}
		}
		return len(missing) == 0
	})
}
