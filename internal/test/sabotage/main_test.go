package main

import (
	"testing"

	"example.com/orders/internal/test/faults"
	"example.com/orders/internal/test/overlay"
)

// A refactoring moves the text that a sabotage replaces. This keeps the table true without
// the minutes that the sabotages take.
func TestSabotages_ReplaceTextThatOccursOnce(t *testing.T) {
	t.Chdir("../../..")
	for _, s := range sabotages {
		if _, known := faults.ByName(s.fault); !known {
			t.Errorf("%s: there is no fault %s", s.name, s.fault)
		}
		if _, err := overlay.Write(t.TempDir(), s.edits...); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
	}
}
