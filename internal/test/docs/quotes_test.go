package docs

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/core/order"
)

func TestLifeOfAnOrder_IsTheTableOfTransitions(t *testing.T) {
	t.Parallel()
	arrow := regexp.MustCompile(`(?m)^ +(\w+|\[\*\]) --> (\w+|\[\*\])`)
	var drawn []string
	for _, match := range arrow.FindAllStringSubmatch(pageAt("docs/use.md").Diagrams()[0], -1) {
		drawn = append(drawn, match[1]+" → "+match[2])
	}
	slices.Sort(drawn)

	table := []string{"[*] → " + string(order.PendingPayment)}
	for _, from := range order.Statuses() {
		final := true
		for _, to := range order.Statuses() {
			if from.LeadsTo(to) {
				table, final = append(table, string(from)+" → "+string(to)), false
			}
		}
		if final {
			table = append(table, string(from)+" → [*]")
		}
	}
	slices.Sort(table)
	if diff := cmp.Diff(table, drawn); diff != "" {
		t.Errorf("the picture differs from the table (-table +picture):\n%s", diff)
	}
}

// What docs/guide.md shows as Go is a quotation. "…" stands for what is left out.
func TestGuide_QuotesTheCode(t *testing.T) {
	t.Parallel()
	lines := map[string]bool{"…": true}
	for line := range strings.Lines(mustReadRepository(t).source) {
		lines[strings.TrimSpace(line)] = true
	}
	for _, match := range fence.FindAllStringSubmatch(pageAt("docs/guide.md").Text, -1) {
		for line := range strings.Lines(match[2]) {
			if line = strings.TrimSpace(line); match[1] == "go" && !lines[line] {
				t.Errorf("no file has the line %q", line)
			}
		}
	}
}
