// Package docs holds no code. Its tests keep the documentation true: what it names must
// exist.
package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/orders/internal/config"
)

const root = "../../.."

// page is a Markdown file of the repository.
type page struct {
	path string // relative to the root
	text string
}

// pages returns every Markdown file at the root and below docs and examples.
func pages(t *testing.T) []page {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"docs", "examples"} {
		paths = append(paths, filesBelow(t, folder, ".md")...)
	}
	var found []page
	for _, path := range paths {
		found = append(found, page{path: relative(t, path), text: read(t, path)})
	}
	if len(found) < 5 {
		t.Fatalf("found %d pages only", len(found))
	}
	return found
}

func TestLinksLeadToFiles(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#\s]+)[^)]*\)`)
	for _, p := range pages(t) {
		for _, match := range link.FindAllStringSubmatch(p.text, -1) {
			target := match[1]
			if strings.Contains(target, "://") {
				continue
			}
			if !exists(filepath.Join(filepath.Dir(p.path), target)) {
				t.Errorf("%s links to %s, which does not exist", p.path, target)
			}
		}
	}
}

// Paths in backquotes are relative to the root, or to internal as in docs/auth-rules.md.
func TestNamedFilesExist(t *testing.T) {
	t.Parallel()
	path := regexp.MustCompile("`([A-Za-z0-9_.-]+/[A-Za-z0-9_./-]+\\.(?:go|sql|yaml|md|txt))`")
	for _, p := range pages(t) {
		for _, match := range path.FindAllStringSubmatch(p.text, -1) {
			if !exists(match[1]) && !exists(filepath.Join("internal", match[1])) {
				t.Errorf("%s names %s, which does not exist", p.path, match[1])
			}
		}
	}
}

// namedTest matches a test that a page names. A name that ends in "…" stands for every
// test that begins with it.
var namedTest = regexp.MustCompile("`(Test[A-Z][A-Za-z0-9_]*)(…?)`")

// isNamed reports whether a match of namedTest stands for a test.
func isNamed(match []string, test string) bool {
	return test == match[1] || match[2] != "" && strings.HasPrefix(test, match[1])
}

func TestNamedTestsExist(t *testing.T) {
	t.Parallel()
	names := testNames(t)
	for _, p := range pages(t) {
		for _, match := range namedTest.FindAllStringSubmatch(p.text, -1) {
			if !slices.ContainsFunc(names, func(n string) bool { return isNamed(match, n) }) {
				t.Errorf("%s names %s, and there is no such test", p.path, match[1])
			}
		}
	}
}

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
		if strings.HasPrefix(line, "| API") && len(testsWithout(killers, line)) == len(namedTest.FindAllString(line, -1)) {
			t.Errorf("docs/security.md names no test that a mutant makes fail: %s", line)
		}
	}
}

// testsWithout returns the tests that a line names and that are none of the killers.
func testsWithout(killers []string, line string) []string {
	var missing []string
	for _, match := range namedTest.FindAllStringSubmatch(line, -1) {
		if !slices.ContainsFunc(killers, func(k string) bool { return isNamed(match, k) }) {
			missing = append(missing, match[1])
		}
	}
	return missing
}

func TestNamedMakeTargetsExist(t *testing.T) {
	t.Parallel()
	makefile := read(t, filepath.Join(root, "Makefile"))
	named := regexp.MustCompile("(?m)(?:`|^    )make ([a-z-]+)")
	for _, p := range pages(t) {
		for _, match := range named.FindAllStringSubmatch(p.text, -1) {
			if !strings.Contains(makefile, "\n"+match[1]+":") {
				t.Errorf("%s names make %s, which is no target", p.path, match[1])
			}
		}
	}
}

func TestEverySettingIsDocumented(t *testing.T) {
	t.Parallel()
	settings := map[string]bool{}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[config.Config]()) {
		if name, _, _ := strings.Cut(field.Tag.Get("env"), ","); name != "" {
			settings[name] = false
		}
	}
	for _, name := range documentedSettings(t) {
		if _, known := settings[name]; !known {
			t.Errorf("docs/running.md documents %s, which is no setting", name)
		}
		settings[name] = true
	}
	for name, documented := range settings {
		if !documented {
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

// testNames returns the names of all test functions of the repository.
func testNames(t *testing.T) []string {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9_]+)\(`)
	var names []string
	for _, path := range filesBelow(t, ".", "_test.go") {
		for _, match := range declared.FindAllStringSubmatch(read(t, path), -1) {
			names = append(names, match[1])
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
		if name := entry.Name(); entry.IsDir() && strings.HasPrefix(name, ".") && path != filepath.Join(root, folder) {
			return filepath.SkipDir // .git, and the data of orders-dev
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

func relative(t *testing.T, path string) string {
	t.Helper()
	rel, err := filepath.Rel(root, path)
	if err != nil {
		t.Fatal(err)
	}
	return rel
}

func exists(path string) bool {
	_, err := os.Stat(filepath.Join(root, path))
	return err == nil
}
