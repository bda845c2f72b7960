//go:build prometheus

package alerts

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/api"
	promapi "github.com/prometheus/client_golang/api/prometheus/v1"

	"example.com/orders/internal/test/e2e"
	testlog "example.com/orders/internal/test/log"
)

// root is where the repository begins.
const root = "../.."

const (
	rulesFile     = root + "/deploy/prometheus/alerts.yaml"
	dashboardFile = root + "/deploy/grafana/orders.json"
)

// job is the name of the scrape job, as in deploy/prometheus/prometheus.yaml.
const job = "orders"

// prometheus is a running Prometheus.
type prometheus struct{ promapi.API }

// startPrometheus starts a Prometheus that scrapes the targets and evaluates the rules every
// second, until the test ends.
func startPrometheus(t testing.TB, rules string, targets []string) prometheus {
	t.Helper()
	dir, addr := t.TempDir(), e2e.FreeAddr(t)
	write(t, filepath.Join(dir, "alerts.yaml"), rules)
	write(t, filepath.Join(dir, "prometheus.yaml"), fmt.Sprintf(`
global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}
rule_files: [alerts.yaml]
scrape_configs:
  - job_name: %s
    static_configs: [{targets: ["%s"]}]
`, job, strings.Join(targets, `", "`)))
	log := &testlog.Buffer{}
	cmd := exec.CommandContext(t.Context(), "prometheus", "--config.file="+filepath.Join(dir, "prometheus.yaml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+addr, "--log.level=warn")
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v: lab/need prometheus installs it", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may be gone already
		_ = cmd.Wait()         // the error is that it was killed
		if t.Failed() {
			t.Logf("the log of Prometheus:\n%s", log)
		}
	})
	e2e.Eventually(t, "Prometheus is ready", func() bool { return e2e.IsOK("http://" + addr + "/-/ready") })
	client, err := api.NewClient(api.Config{Address: "http://" + addr})
	if err != nil {
		t.Fatal(err)
	}
	p := prometheus{promapi.NewAPI(client)}
	e2e.Eventually(t, "each target is scraped", func() bool { // from then on, a counter that rises has a sample before
		found, err := p.Targets(t.Context())
		return err == nil && len(found.Active) > 0 && !slices.ContainsFunc(found.Active, func(target promapi.ActiveTarget) bool {
			return target.Health != promapi.HealthGood
		})
	})
	return p
}

func write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// active returns the alerts that are pending or fire, by name. Several of one name become one.
func (p prometheus) active(t testing.TB) map[string]promapi.Alert {
	t.Helper()
	found, err := p.Alerts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	active := map[string]promapi.Alert{}
	for _, a := range found.Alerts {
		active[string(a.Labels["alertname"])] = a
	}
	return active
}

// rules returns the rules that Prometheus evaluates.
func (p prometheus) rules(t testing.TB) (all []promapi.AlertingRule) {
	t.Helper()
	found, err := p.Rules(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range found.Groups {
		for _, r := range g.Rules {
			all = append(all, r.(promapi.AlertingRule))
		}
	}
	return all
}
