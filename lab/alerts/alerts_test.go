//go:build prometheus

package alerts

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	promapi "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/internal/test/e2e/routes"
)

// TestAlerts_FireForRealFaults breaks one thing after the other. Prometheus must raise the
// alerts of each. How long an alert stays pending before it fires is up to promtool's tests.
func TestAlerts_FireForRealFaults(t *testing.T) {
	rules, err := os.ReadFile(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	s := startSystem(t, shortened(t, string(rules)), func(env *e2e.Env) { plantMismatch(t, env) },
		"ORDERS_REQUESTS_PER_MINUTE=120", "ORDERS_UNLIMITED_ROLES=system,seller")
	s.PutProduct(t, "tea", 1000)
	routes.Prepare(t, s.Service, "refundPayment").MustRun(t, "refund") // the dashboard counts refunds
	s.refreshKeys(t)
	start, raised := time.Now(), map[string]bool{}
	t.Run("the format of the metrics", s.checkFormat)
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) { s.raise(t, f) })
		for _, name := range f.alerts {
			raised[name] = true
		}
	}
	d := readDashboard(t)
	t.Run("the names in rules and dashboard", func(t *testing.T) { s.checkNames(t, d) })
	t.Run("the panels of the dashboard", func(t *testing.T) { s.checkPanels(t, d, start) })
	for _, r := range s.prometheus.rules(t) {
		if r.Health != promapi.RuleHealthGood {
			t.Errorf("%s is %s: %s", r.Name, r.Health, r.LastError)
		}
		if !raised[r.Name] {
			t.Errorf("no fault raises %s", r.Name)
		}
	}
}

// raise lets a fault strike, waits for its alerts, and repairs it. Alerts that are not lasting
// must end then.
func (s *system) raise(t *testing.T, f fault) {
	t.Helper()
	for _, name := range f.alerts {
		if _, active := s.prometheus.active(t)[name]; active && f.strike != nil {
			t.Fatalf("%s is active before the fault", name)
		}
	}
	var repair func()
	if f.strike != nil {
		repair = f.strike(t, s)
	}
	var active map[string]promapi.Alert
	e2e.Eventually(t, strings.Join(f.alerts, ", ")+" is raised", func() bool {
		active = s.prometheus.active(t)
		return !slices.ContainsFunc(f.alerts, func(name string) bool { return active[name].State == "" })
	})
	for _, name := range f.alerts {
		checkTexts(t, name, active[name])
	}
	t.Logf("%s; active: %s", f.name, strings.Join(slices.Sorted(maps.Keys(active)), ", "))
	if repair != nil {
		repair()
	}
	if f.lasting {
		return
	}
	e2e.Eventually(t, "the alerts end", func() bool {
		active = s.prometheus.active(t)
		return !slices.ContainsFunc(f.alerts, func(name string) bool { return active[name].State != "" })
	})
}

// checkTexts checks what an operator reads of an alert.
func checkTexts(t *testing.T, name string, a promapi.Alert) {
	t.Helper()
	if a.Labels["severity"] != "page" && a.Labels["severity"] != "ticket" {
		t.Errorf("%s has the severity %q", name, a.Labels["severity"])
	}
	for _, text := range []model.LabelName{"summary", "description", "look", "action", "runbook_url"} {
		if v := string(a.Annotations[text]); v == "" || strings.Contains(v, "<error") || strings.Contains(v, "<no value>") {
			t.Errorf("%s has the %s %q", name, text, v)
		}
	}
	if want := "docs/runbook.md#" + strings.ToLower(name); !strings.HasSuffix(string(a.Annotations["runbook_url"]), want) {
		t.Errorf("the runbook of %s is %s, want …/%s", name, a.Annotations["runbook_url"], want)
	}
}
