//go:build prometheus

package alerts

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	promapi "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"example.com/orders/internal/test/e2e"
)

// dashboard is what the tests read of deploy/grafana/orders.json.
type dashboard struct {
	Panels     []panel
	Templating struct {
		List []struct {
			Name, Definition string
		}
	}
	Annotations struct {
		List []struct{ Expr string }
	}
}

type panel struct {
	Title   string
	Targets []target
	Panels  []panel // of a folded row
}

type target struct{ Expr, LegendFormat string }

// labelInLegend is a label whose value Grafana writes into a legend.
var labelInLegend = regexp.MustCompile(`{{(\w+)}}`)

// values takes the place of the variables of the dashboard.
var values = strings.NewReplacer("$job", job, "$instance", ".*", "$__rate_interval", "5s")

// readDashboard reads the dashboard, with values for its variables.
func readDashboard(t testing.TB) dashboard {
	t.Helper()
	text, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal([]byte(values.Replace(string(text))), &d); err != nil {
		t.Fatal(err)
	}
	for _, p := range d.Panels {
		d.Panels = append(d.Panels, p.Panels...)
	}
	return d
}

// labelValues is the query of a variable of the dashboard: it lists the values of a label.
var labelValues = regexp.MustCompile(`^label_values\((.+), \w+\)$`)

// queries returns all queries of the dashboard.
func (d dashboard) queries(t testing.TB) []string {
	t.Helper()
	var all []string
	for _, v := range d.Templating.List {
		if v.Definition == "" {
			continue // the data source
		}
		found := labelValues.FindStringSubmatch(v.Definition)
		if found == nil {
			t.Fatalf("the variable %s has the query %q", v.Name, v.Definition)
		}
		all = append(all, found[1])
	}
	for _, a := range d.Annotations.List {
		all = append(all, a.Expr)
	}
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			all = append(all, q.Expr)
		}
	}
	return all
}

// tool runs the command of the module tool.
func tool(t testing.TB, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"run", "-C", "tool", "."}, args...)...)
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s", cmd, err, &errors)
	}
	return out
}

// writeJSON writes a file for the tool and returns its path.
func writeJSON(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "data.json")
	write(t, file, string(text))
	return file
}

func TestDashboard_FollowsTheSchemaOfGrafana(t *testing.T) {
	t.Parallel()
	file, err := filepath.Abs(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	tool(t, "dashboard", file)
}

// checkFormat lets promtool check what the service exports.
func (s *system) checkFormat(t *testing.T) {
	t.Helper()
	_, metrics := e2e.Fetch(t, "http://"+s.admin[0]+"/metrics")
	cmd := exec.CommandContext(t.Context(), "promtool", "check", "metrics")
	cmd.Stdin = strings.NewReader(metrics)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%s: %v: %s", cmd, err, out)
	}
}

// selector is what a query selects: see the tool.
type selector struct {
	Query, Metric string
	Values        model.LabelSet
	Labels        []model.LabelName
}

// checkNames checks that Prometheus has got from the service each metric, label and value that
// the rules and the dashboard name.
func (s *system) checkNames(t *testing.T, d dashboard) {
	t.Helper()
	queries := d.queries(t)
	for _, r := range s.prometheus.rules(t) {
		queries = append(queries, r.Query)
	}
	var selectors []selector
	if err := json.Unmarshal(tool(t, "selectors", writeJSON(t, queries)), &selectors); err != nil {
		t.Fatal(err)
	}
	if len(selectors) < len(queries) {
		t.Fatalf("%d queries have %d selectors", len(queries), len(selectors))
	}
	for _, sel := range selectors {
		exported, _, _, err := s.prometheus.Series(t.Context(), []string{sel.Metric}, time.Time{}, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		if len(exported) == 0 {
			t.Errorf("%s is not exported, in %s", sel.Metric, sel.Query)
		}
		for _, label := range sel.Labels {
			if slices.ContainsFunc(exported, func(labels model.LabelSet) bool { return labels[label] == "" }) {
				t.Errorf("%s has no label %s, in %s", sel.Metric, label, sel.Query)
			}
		}
		for label, value := range sel.Values {
			if !slices.ContainsFunc(exported, func(labels model.LabelSet) bool { return labels[label] == value }) {
				t.Errorf("%s never has %s=%q, in %s", sel.Metric, label, value, sel.Query)
			}
		}
	}
	t.Logf("%d selectors in %d queries", len(selectors), len(queries))
}

// checkPanels checks that each query of the dashboard has shown something since the start, and
// that its series have the labels of their legend.
func (s *system) checkPanels(t *testing.T, d dashboard, start time.Time) {
	t.Helper()
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			shown, _, _, err := s.prometheus.QueryRange(t.Context(), q.Expr, promapi.Range{Start: start, End: time.Now(), Step: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			series := shown.(model.Matrix)
			if len(series) == 0 {
				t.Errorf("%s shows nothing: %s", p.Title, q.Expr)
			}
			for _, one := range series {
				for _, label := range labelInLegend.FindAllStringSubmatch(q.LegendFormat, -1) {
					if one.Metric[model.LabelName(label[1])] == "" {
						t.Errorf("%s: a series has no label %s: %v", p.Title, label[1], one.Metric)
					}
				}
			}
		}
	}
}
