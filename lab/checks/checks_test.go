package main

import (
	"errors"
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

// A test that runs out of time on a busy machine has noticed nothing.
func TestJudge_TellsAHangFromANoticedDefect(t *testing.T) {
	const (
		fails = "--- FAIL: TestAmounts (0.00s)\nFAIL"
		hangs = "panic: test timed out after 2m0s\n\trunning tests:\n\t\tTestAmounts (2m0s)"
	)
	tests := []struct {
		row    row
		output string
		err    error
		want   string
	}{
		{row{}, fails, errors.New("exit status 1"), good},
		{row{}, hangs, errors.New("exit status 1"), "TIMED OUT"},
		{row{prints: "timed out"}, hangs, errors.New("exit status 1"), "TIMED OUT"},
		{row{prints: timedOut}, hangs, errors.New("exit status 1"), good},
		{row{prints: timedOut}, fails, errors.New("exit status 1"), "FAILED WITH OTHER WORDS"},
		{row{passes: true}, hangs, errors.New("exit status 1"), "TIMED OUT"},
		{row{passes: true}, fails, errors.New("exit status 1"), "FAILED"},
		{row{passes: true}, "PASS", nil, good},
		{row{}, "PASS", nil, "NOT NOTICED"},
		{row{}, "FAIL [build failed]", errors.New("exit status 1"), "DOES NOT RUN"},
	}
	for _, test := range tests {
		if got := test.row.judge(test.output, test.err); got != test.want {
			t.Errorf("%+v: %q is %s, want %s", test.row, test.output, got, test.want)
		}
	}
}

func TestRows_RunTheLongestFirst(t *testing.T) {
	short, long, longToo := &row{within: 1}, &row{within: 2, name: "first"}, &row{within: 2}
	rows := []*row{short, long, longToo}
	longestFirst(rows)
	if want := []*row{long, longToo, short}; !slices.Equal(rows, want) {
		t.Errorf("%v, want %v", rows, want)
	}
}
