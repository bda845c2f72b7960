//go:build prometheus

package alerts

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
type prometheus struct{ url string }

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
		t.Fatalf("%v: make need-prometheus installs it", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may be gone already
		_ = cmd.Wait()         // the error is that it was killed
		if t.Failed() {
			t.Logf("the log of Prometheus:\n%s", log)
		}
	})
	p := prometheus{"http://" + addr}
	e2e.Eventually(t, "Prometheus is ready", func() bool {
		resp, err := http.Get(p.url + "/-/ready")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return p
}

func write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// ask reads an answer of the API into data.
func (p prometheus) ask(t testing.TB, path string, query url.Values, data any) {
	t.Helper()
	status, body := e2e.Fetch(t, p.url+"/api/v1/"+path+"?"+query.Encode())
	answer := struct{ Data any }{data}
	if err := json.Unmarshal([]byte(body), &answer); status != http.StatusOK || err != nil {
		t.Fatalf("%s %s: status %d: %s", path, query, status, body)
	}
}

// series is a result of a query. A value is a pair of a time and a number in quotes.
type series struct {
	Metric map[string]string
	Values [][2]any
}

// queryRange evaluates an expression once in each step.
func (p prometheus) queryRange(t testing.TB, expr string, from, to time.Time, step time.Duration) []series {
	t.Helper()
	var data struct{ Result []series }
	p.ask(t, "query_range", url.Values{
		"query": {expr}, "start": {from.Format(time.RFC3339)}, "end": {to.Format(time.RFC3339)},
		"step": {fmt.Sprint(step.Seconds())},
	}, &data)
	return data.Result
}

// alert is an alert that is pending or fires.
type alert struct {
	Labels, Annotations map[string]string
	State               string
}

// alerts returns the alerts that are pending or fire, by name. Several of one name become one.
func (p prometheus) alerts(t testing.TB) map[string]alert {
	t.Helper()
	var data struct{ Alerts []alert }
	p.ask(t, "alerts", nil, &data)
	active := map[string]alert{}
	for _, a := range data.Alerts {
		active[a.Labels["alertname"]] = a
	}
	return active
}

// rule is a rule as Prometheus has read it.
type rule struct{ Name, Query, Health, LastError string }

// rules returns the rules that Prometheus evaluates.
func (p prometheus) rules(t testing.TB) []rule {
	t.Helper()
	var data struct{ Groups []struct{ Rules []rule } }
	p.ask(t, "rules", nil, &data)
	var all []rule
	for _, g := range data.Groups {
		all = append(all, g.Rules...)
	}
	return all
}
