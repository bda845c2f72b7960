package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/orders/lab/overlay"
)

// A tree is the text of source files by path.
type tree map[string]string

// readTree reads the source below the root.
func readTree() (tree, error) {
	source := tree{}
	return source, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		skipped := []string{".git", "bin", "node_modules"}
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains(skipped, entry.Name()):
			return filepath.SkipDir
		case entry.IsDir() || !slices.Contains([]string{".go", ".sql", ".yaml", ".txt"}, filepath.Ext(path)):
			return nil
		}
		text, err := os.ReadFile(path)
		source[path] = string(text)
		return err
	})
}

// with returns the files that contain the text.
func (t tree) with(text string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(t)), func(path string) bool { return !strings.Contains(t[path], text) })
}

// verify returns the mistakes of a row that show before it runs: old text that does not
// occur once, and tests that do not exist. It names the files that have them now.
func (r *row) verify(dir string, source tree) []string {
	var wrong []string
	if _, err := overlay.Write(dir, r.edits...); err != nil {
		wrong = append(wrong, err.Error())
	}
	for _, e := range r.edits {
		if !strings.Contains(source[e.File], e.Before) {
			wrong = append(wrong, fmt.Sprintf("the text of %s is now in %v", e.File, source.with(e.Before)))
		}
	}
	for _, name := range r.tests() {
		declared := source.with("func " + name + "(")
		if name == "" {
			declared = source.with("func Test")
		}
		if !slices.ContainsFunc(declared, func(path string) bool { return filepath.Dir(path) == filepath.Join(root, r.pkg) }) {
			wrong = append(wrong, fmt.Sprintf("%s is not in %s, now in %v", name, r.pkg, declared))
		}
	}
	return wrong
}

// A refactoring moves the text that a row edits and the test that it runs. This test says
// where to, in seconds instead of the hour that the rows take.
func TestRows_EditTextThatOccursOnceAndRunTestsThatExist(t *testing.T) {
	t.Chdir("..")
	rows, err := readRows()
	if err != nil {
		t.Fatal(err)
	}
	source, err := readTree()
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, r := range rows {
		if known[r.String()] {
			t.Errorf("%s: two rows have this name", r)
		}
		known[r.String()] = true
		for _, wrong := range r.verify(t.TempDir(), source) {
			t.Errorf("%s: %s", r, wrong)
		}
	}
}
