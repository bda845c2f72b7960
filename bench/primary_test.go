package main

import (
	"slices"
	"strings"
	"testing"
)

// The machine is busy with other work in one round of each variant.
func TestSection_ComparesTheFastestRounds(t *testing.T) {
	t.Parallel()
	first := []sample{{rate: 1000, cpuPostgres: 0.5}, {rate: 100, cpuPostgres: 0.9}}
	second := []sample{{rate: 50, cpuPostgres: 0.4}, {rate: 3000, cpuPostgres: 0.1}}
	c := comparison{title: "Lanes", text: "Why.", variants: []variant{{name: "one"}, {name: "two"}}}
	text := c.section([]comparedSamples{
		{commandLoad{"CreditBalance", 64}, c.variants, [][]sample{first, second}},
	})
	for _, row := range []string{
		"| CreditBalance | 64 | one | 1000 | **1.00** | 0.00 | 0.00 | 0.000 | 0.500 | 0.000 | 2000 | 0 |\n",
		"| CreditBalance | 64 | two | 3000 | **3.00** | 0.00 | 0.00 | 0.000 | 0.100 | 0.000 | 10000 | 0 |\n",
	} {
		if !strings.Contains(text, row) {
			t.Errorf("no row %q in:\n%s", row, text)
		}
	}
}

func TestComparisons_NameCommands(t *testing.T) {
	t.Parallel()
	for _, c := range new(bench).comparisons(nil) {
		for _, l := range c.loads {
			named := func(known command) bool { return known.name == l.name }
			if !slices.ContainsFunc(commands(), named) {
				t.Errorf("%s measures %q, which is no command", c.title, l.name)
			}
		}
	}
}
