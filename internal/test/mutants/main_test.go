package main

import (
	"os"
	"testing"
)

// A refactoring moves the text that a mutant replaces. This keeps the table true without
// the minutes that the mutants take.
func TestMutants_ReplaceTextThatOccursOnce(t *testing.T) {
	t.Chdir("../../..")
	for _, m := range all() {
		if _, err := m.mutate(); err != nil {
			t.Errorf("%s: %v", m.protection, err)
		}
		if _, err := os.Stat(m.pkg); err != nil {
			t.Errorf("%s: %v", m.protection, err)
		}
	}
}
