package metrics_test

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"example.com/orders/internal/test/e2e"
)

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
	for family := range now.types {
		if !moved[family] {
			t.Errorf("no move moves %s", family)
		}
	}
	wantDocumented(t, now)
	problems, err := promlint.New(strings.NewReader(now.text)).Lint() // the conventions of Prometheus
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

// run makes the move and waits until all of its metrics have changed as they must.
func (m move) run(t *testing.T, f *fixture) {
	t.Helper()
	before := scrape(t, f.admin)
	undo := m.do(t, f)
	if undo != nil {
		defer undo()
	}
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
