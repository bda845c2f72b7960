package docs

import (
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// alertGroup is a group of alerts in deploy/prometheus/alerts.yaml.
type alertGroup struct {
	Name  string
	Rules []struct {
		Alert, Expr, For    string
		Labels, Annotations map[string]string
	}
}

func readAlerts(t *testing.T) []alertGroup {
	t.Helper()
	var file struct{ Groups []alertGroup }
	if err := yaml.Unmarshal([]byte(pageAt("deploy/prometheus/alerts.yaml").Text), &file); err != nil {
		t.Fatal(err)
	}
	return file.Groups
}

// runbookPage has a section for each alert, made of its annotations.
func runbookPage(t *testing.T) string {
	t.Helper()
	page := beginPage("Runbook", "deploy/prometheus/alerts.yaml", `
For each alert: its meaning, where to look, and the remedy. [Operate](operate.md#troubleshooting) has the
commands that read metrics, log and locks. Three rules hold for all alerts:

- **Do not repeat a command under a new key.** The same key is always safe, and
  `+"`GET /idempotency-keys/{key}`"+` reports the outcome.
- **Do not change rows by hand.** The service never needs it, and reconciliation reports it.
- Restarting or killing a replica is safe at any time.
`)
	for _, group := range readAlerts(t) {
		for _, rule := range group.Rules {
			delay := ""
			if rule.For != "" {
				delay = " after " + rule.For
			}
			fmt.Fprintf(page, "\n## %s\n\n*%s%s*\n", rule.Alert, rule.Labels["severity"], delay)
			for _, part := range [][2]string{{"Means", "description"}, {"Look", "look"}, {"Do", "action"}} {
				text := strings.TrimSpace(rule.Annotations[part[1]])
				if text == "" {
					t.Errorf("%s has no annotation %s", rule.Alert, part[1])
				}
				fmt.Fprintf(page, "\n**%s**: %s\n", part[0], text)
			}
			if want := "docs/runbook.md#" + strings.ToLower(rule.Alert); !strings.HasSuffix(rule.Annotations["runbook_url"], want) {
				t.Errorf("the runbook_url of %s does not end with %s", rule.Alert, want)
			}
		}
	}
	return page.String()
}
