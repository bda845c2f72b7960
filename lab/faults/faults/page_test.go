package faults

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// docs/reliability.md is the list of faults that people read.
func TestPage_ListsEachFault(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range All {
		row := fmt.Sprintf("\n| %s | %#q | ", f.Number, f.Name)
		_, rest, found := strings.Cut(string(text), row)
		if !found {
			t.Errorf("the page has no row %q", row)
			continue
		}
		line, _, _ := strings.Cut(rest, "\n")
		if short := strings.HasSuffix(line, " | yes |"); short != f.Short {
			t.Errorf("%s: the page says %t about the short form, want %t", f.Name, short, f.Short)
		}
	}
	if rows := strings.Count(string(text), "\n| F"); rows != len(All) {
		t.Errorf("the page has %d faults, want %d", rows, len(All))
	}
}
