package docs

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
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
- **Do not change rows by hand.** The service never needs it, and reconciliation reports it. The
  [operators' commands](operate.md#commands) do what is left to do, and write it to the audit log.
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

// The night has no other machine than the workflow's: a target that it forgets never runs.
func TestWorkflow_RunsTheWholeNight(t *testing.T) {
	t.Parallel()
	night := strings.Fields(between(t, "../../../lab/Makefile", `(?m)^NIGHT = (.*)`))
	workflow := "../../../.github/workflows/ci.yml"
	runs := map[string]bool{"kit": true} // .ci/run runs it with every change
	for _, name := range strings.FieldsFunc(between(t, workflow, `targets: \[(.*)\]`), func(r rune) bool { return r == ' ' || r == ',' }) {
		runs[name] = true
	}
	for _, match := range regexp.MustCompile(`run: .*make -C lab ([a-z-]+)`).FindAllStringSubmatch(read(t, workflow), -1) {
		runs[match[1]] = true
	}
	delete(runs, "nightly") // it runs the targets
	slices.Sort(night)
	if got := slices.Sorted(maps.Keys(runs)); !slices.Equal(got, night) {
		t.Errorf("the workflow runs %v\nwant %v", got, night)
	}
}

// between returns the part of a file that the group of a pattern matches.
func between(t *testing.T, file, pattern string) string {
	t.Helper()
	match := regexp.MustCompile(pattern).FindStringSubmatch(read(t, file))
	if match == nil {
		t.Fatalf("%s has no %s", file, pattern)
	}
	return match[1]
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
