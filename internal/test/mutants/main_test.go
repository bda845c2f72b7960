package main

import (
	"os"
	"testing"

	"example.com/orders/internal/test/overlay"
)

// A refactoring moves the text that a mutant replaces. This keeps the table true without
// the minutes that the mutants take.
func TestMutants_ReplaceTextThatOccursOnce(t *testing.T) {
	t.Chdir("../../..")
	for _, m := range all() {
		if _, err := overlay.Write(t.TempDir(), m.edit()); err != nil {
			t.Errorf("%s: %v", m.protection, err)
		}
		if _, err := os.Stat(m.pkg); err != nil {
			t.Errorf("%s: %v", m.protection, err)
		}
	}
}
