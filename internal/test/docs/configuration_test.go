package docs

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"example.com/orders/internal/config"
	"example.com/orders/internal/observe/metrics"
)

// configurationPage describes the settings by the comments of [config.Config], and by the
// errors with which [config.Read] refuses other values.
func configurationPage(t *testing.T) string {
	t.Helper()
	page := beginPage("Configuration", "internal/config/config.go", `
All settings are environment variables. The process checks them when it starts and reports every
problem at once. An empty variable means the default. A variable that begins with `+"`ORDERS_`"+` and is no
setting is refused because it is probably mistyped, and so is a value in quotes. `+"`orders config`"+`
prints the settings in force, without secrets. [Operate](operate.md) explains how they work together.
The files in [deploy](../deploy) set those of the first group, and the last group is for unusual cases.

The settings marked with * may contain secrets. Each can be in a file instead, as container platforms mount
them: `+"`ORDERS_DATABASE_URL_FILE`"+` names the file with `+"`ORDERS_DATABASE_URL`"+`, and so on. A newline at its
end does not count.

`)
	comments := fieldComments(t)
	for _, field := range reflect.VisibleFields(reflect.TypeFor[config.Config]()) {
		if group := field.Tag.Get("group"); group != "" {
			page.WriteString("\n## " + group + "\n")
			writeHead(page, "variable", "meaning", "default", "must be")
		}
		name, option, _ := strings.Cut(field.Tag.Get("env"), ",")
		byDefault := field.Tag.Get("envDefault")
		switch {
		case byDefault != "":
			byDefault = "`" + byDefault + "`"
		case refusal(name, "") != "":
			byDefault = "required"
		}
		mark := ""
		if option == "unset" {
			mark = " *"
		}
		writeRow(page, "`"+name+"`"+mark, meaning(t, field.Name, comments[field.Name]), byDefault, requirement(name))
	}
	return page.String()
}

// fieldComments returns the comment of each field of [config.Config].
func fieldComments(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "internal", "config", "config.go"), nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	comments := map[string]string{}
	ast.Inspect(file, func(node ast.Node) bool {
		if field, ok := node.(*ast.Field); ok && field.Doc != nil {
			comments[field.Names[0].Name] = strings.Join(strings.Fields(field.Doc.Text()), " ")
		}
		return true
	})
	return comments
}

// meaning returns a comment without the name with which it begins: "Addr is the listener."
// becomes "The listener."
func meaning(t *testing.T, field, comment string) string {
	t.Helper()
	text, found := strings.CutPrefix(comment, field+" ")
	if !found {
		t.Errorf("the comment of config.Config.%s does not begin with its name", field)
		return ""
	}
	for _, verb := range []string{"is ", "are "} {
		text = strings.TrimPrefix(text, verb)
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// requirement returns what a value must be, as the error says that refuses a wrong one.
func requirement(name string) string {
	for _, wrong := range []string{"", "?", "-1"} {
		if text := refusal(name, wrong); text != "" {
			return strings.TrimPrefix(text, "be ")
		}
	}
	return ""
}

// refusal returns what must hold of a variable that has a wrong value, or nothing.
func refusal(name, value string) string {
	_, err := config.Read([]string{name + "=" + value})
	for line := range strings.Lines(err.Error()) {
		if text, found := strings.CutPrefix(strings.TrimSpace(line), name+" must "); found {
			return text
		}
	}
	return ""
}

// assignment matches a setting that a file of an image, of Compose or of Kubernetes
// assigns.
var assignment = regexp.MustCompile(`(?m)^[^#\n]*?\b(ORDERS_[A-Z_]+)(?:=|: |, value:)`)

func TestDeploy_SetsTheSettingsOfEveryInstallation(t *testing.T) {
	t.Parallel()
	set := map[string]bool{}
	for _, pattern := range []string{"Containerfile", "compose.yaml", ".env.example", "kubernetes/*/*"} {
		files, err := filepath.Glob(filepath.Join(root, "deploy", pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range assignment.FindAllStringSubmatch(string(text), -1) {
				set[found[1]] = true
			}
		}
	}

	first := map[string]bool{}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[config.Config]()) {
		if group := field.Tag.Get("group"); group != "" && group != "Every installation" {
			break
		}
		name, _, _ := strings.Cut(field.Tag.Get("env"), ",")
		first[name] = true
	}
	if diff := cmp.Diff(first, set); diff != "" {
		t.Errorf("settings (-first group +deploy):\n%s", diff)
	}
}

// metric is a family of metrics as Prometheus reads it.
type metric struct {
	// suffix is the name without the name of the service.
	name, suffix, help, kind string
	labels                   []string
}

// metricsPage describes the metrics by their help texts. Package metrics of the end-to-end
// tests compares the page with a running service.
func metricsPage(t *testing.T) string {
	t.Helper()
	page := beginPage("Metrics", "the metrics registry", `
`+"`GET /metrics`"+` on the admin listener serves these metrics, besides those about the Go runtime
(`+"`go_…`"+`) and the process (`+"`process_…`"+`).

- **Counters and histograms** count in one process: add them up over the replicas. A counter with one
  label starts at 0 for each known value.
- **Database gauges**, marked with *, are the same on every replica: aggregate them with `+"`max`"+`.
  Scrapes within a second share one read. While the database is down, these gauges are absent,
  `+"`orders_database_up`"+` is 0, and the other metrics are served.
- **Labels** have few values, and clients choose none.

`)
	writeHead(page, "metric", "type", "labels", "meaning", "alerts")
	alerts, without := readAlerts(t), exported(t, false)
	for _, m := range exported(t, true) {
		name := "`" + m.name + "`"
		if !slices.ContainsFunc(without, func(other metric) bool { return other.name == m.name }) {
			name += " *"
		}
		labels := ""
		if len(m.labels) > 0 {
			labels = "`" + strings.Join(m.labels, "`, `") + "`"
		}
		writeRow(page, name, m.kind, labels, m.help, strings.Join(alertsOn(alerts, m.name), ", "))
	}
	return page.String()
}

// An operator looks the reason for a 401 up.
func TestOperate_ExplainsEveryReasonForA401(t *testing.T) {
	t.Parallel()
	recorder := httptest.NewRecorder()
	metrics.New(zerolog.Nop()).Handler().ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	reasons := regexp.MustCompile(`unauthenticated_requests_total\{reason="(\w+)"}`).FindAllStringSubmatch(recorder.Body.String(), -1)
	for _, match := range reasons {
		if !strings.Contains(pageAt("docs/operate.md").Text, "\n| `"+match[1]+"` | ") {
			t.Errorf("docs/operate.md does not explain %s", match[1])
		}
	}
	if len(reasons) == 0 {
		t.Error("no reason is counted")
	}
}

// alertsOn returns links to the alerts whose rules read a metric.
func alertsOn(groups []alertGroup, name string) (links []string) {
	reads := regexp.MustCompile(`\b` + name + `(_bucket|_count|_sum)?\b`)
	for _, group := range groups {
		for _, rule := range group.Rules {
			if reads.MatchString(rule.Expr) {
				links = append(links, "["+rule.Alert+"](runbook.md#"+strings.ToLower(rule.Alert)+")")
			}
		}
	}
	return links
}

var sample = regexp.MustCompile(`^(\w+?)(?:_bucket|_count|_sum)?\{([^}]*)\}`)

// exported returns the metrics of a process to which everything has happened, by suffix:
// a copy of the service has the same order.
func exported(t *testing.T, withDatabase bool) []metric {
	t.Helper()
	recorder := httptest.NewRecorder()
	everything(withDatabase).Handler().ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	var found []metric
	for line := range strings.Lines(recorder.Body.String()) {
		fields := strings.SplitN(strings.TrimSpace(line), " ", 4)
		match := sample.FindStringSubmatch(line)
		switch {
		case fields[1] == "HELP":
			found = append(found, metric{name: fields[2], suffix: suffixOf(fields[2]), help: fields[3]})
		case fields[1] == "TYPE":
			found[len(found)-1].kind = fields[3]
		case match != nil:
			found[len(found)-1].labels = labelNames(match[2])
		}
	}
	found = slices.DeleteFunc(found, func(m metric) bool { return m.suffix == "" })
	slices.SortFunc(found, func(a, b metric) int { return strings.Compare(a.suffix, b.suffix) })
	return found
}

// suffixOf returns the name of a metric without that of the service, or nothing if it is not
// one of ours.
func suffixOf(name string) string {
	module := strings.TrimSuffix(reflect.TypeFor[config.Config]().PkgPath(), "/internal/config")
	suffix, isOurs := strings.CutPrefix(name, strings.ReplaceAll(path.Base(module), "-", "_")+"_")
	if !isOurs {
		return ""
	}
	return suffix
}

// labelNames returns the labels of a sample, without that of a histogram's bucket.
func labelNames(labels string) (names []string) {
	for _, match := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(labels, -1) {
		if match[1] != "le" {
			names = append(names, match[1])
		}
	}
	return names
}

// everything returns metrics without an empty family.
func everything(withDatabase bool) *metrics.Metrics {
	m := metrics.New(zerolog.Nop())
	m.RequestEnded("/orders", "GET", 200, time.Second)
	m.ProviderAnswered("charge", "ok", time.Second)
	m.Job("settle_payment")
	m.RowsRemoved("settle_payment", 1)
	m.TokenRejected("expired")
	m.Pool("requests", func() metrics.Pool { return metrics.Pool{} })
	yes := func() bool { return true }
	m.Circuit(yes)
	m.Broker(yes)
	m.Ready(yes)
	m.Log(func() uint64 { return 0 })
	m.Issuer(func() (keys int, age time.Duration) { return 1, time.Second })
	m.Database(func(context.Context) (metrics.Database, error) {
		if !withDatabase {
			return metrics.Database{}, errors.New("the database is down")
		}
		return metrics.Database{
			Jobs:      []metrics.Jobs{{Kind: "settle_payment", State: "available", Count: 1}},
			Tables:    []metrics.Table{{Name: "orders"}},
			AnswerDue: new(time.Second),
		}, nil
	})
	return m
}
