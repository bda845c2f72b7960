package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// testInPage matches a test that a page names.
var testInPage = regexp.MustCompile("`(Test[A-Z][A-Za-z0-9_]*)`")

// A rule counts only if somebody notices its absence: each test that docs/auth-rules.md
// names, and one at least for each risk in docs/security.md, fails for a mutant.
func TestEveryRuleHasAMutant(t *testing.T) {
	t.Parallel()
	kills := regexp.MustCompile(`"(Test[A-Z][A-Za-z0-9_]*)"`)
	var killers []string
	for _, path := range filesBelow(t, "internal/test/mutants", ".go") {
		for _, match := range kills.FindAllStringSubmatch(read(t, path), -1) {
			killers = append(killers, match[1])
		}
	}
	for line := range strings.Lines(read(t, filepath.Join(root, "docs", "auth-rules.md"))) {
		for _, name := range testsWithout(killers, line) {
			t.Errorf("docs/auth-rules.md names %s, and no mutant makes it fail: %s", name, line)
		}
	}
	for line := range strings.Lines(read(t, filepath.Join(root, "docs", "security.md"))) {
		if strings.HasPrefix(line, "| API") && len(testsWithout(killers, line)) == len(testInPage.FindAllString(line, -1)) {
			t.Errorf("docs/security.md names no test that a mutant makes fail: %s", line)
		}
	}
}

// testsWithout returns the tests that a line names and that are none of the killers.
func testsWithout(killers []string, line string) []string {
	var missing []string
	for _, match := range testInPage.FindAllStringSubmatch(line, -1) {
		if !slices.Contains(killers, match[1]) {
			missing = append(missing, match[1])
		}
	}
	return missing
}

func TestEverySettingIsDocumented(t *testing.T) {
	t.Parallel()
	documented := documentedSettings(t)
	for name := range mustReadRepository(t).settings {
		if name != "" && !slices.Contains(documented, name) {
			t.Errorf("docs/running.md does not document %s", name)
		}
	}
}

// documentedSettings returns the variables in the first column of the table of settings.
func documentedSettings(t *testing.T) []string {
	t.Helper()
	var names []string
	for line := range strings.Lines(read(t, filepath.Join(root, "docs", "running.md"))) {
		if first, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | "); strings.HasPrefix(first, "`ORDERS_") {
			names = append(names, regexp.MustCompile(`ORDERS_[A-Z_]+`).FindAllString(first, -1)...)
		}
	}
	return names
}

// filesBelow returns the files below a folder of the repository whose names end in suffix.
func filesBelow(t *testing.T, folder, suffix string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		foreign := strings.HasPrefix(name, ".") || name == "node_modules" // .git, the data of orders-dev, packages of npm
		if entry.IsDir() && foreign && path != filepath.Join(root, folder) {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, suffix) {
			found = append(found, path)
		}
		return nil
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return found
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
