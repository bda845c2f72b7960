package main

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// root is where the repository begins.
const root = "../../.."

func TestPage_IsWhatTheTablesSay(t *testing.T) {
	t.Parallel()
	if diff := gocmp.Diff(document(), string(mustRead(t, filepath.Join(root, page)))); diff != "" {
		t.Errorf("%s is out of date: run go run ./internal/test/defects -markdown (-tables +page):\n%s", page, diff)
	}
}

func TestDefects_HaveTheirTestsToday(t *testing.T) {
	t.Parallel()
	for _, d := range defects() {
		pkg, test := d.whereNow()
		if !declares(t, pkg, test) {
			t.Errorf("%s: %s has no %s", d.name, pkg, test)
		}
		if len(d.repair) != 10 || d.symptom == "" || d.found == "" || d.prints == "" {
			t.Errorf("%s is incomplete", d.name)
		}
	}
}

func TestDefects_HaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	var names []string
	for _, d := range defects() {
		names = append(names, d.name)
	}
	for _, d := range unshown {
		names = append(names, d.name)
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) || !regexp.MustCompile(`^[a-z0-9-]+$`).MatchString(name) {
			t.Errorf("the name %q is used twice, or no word for a command", name)
		}
	}
}

// A rewritten history would leave the table with commits that nobody can check out. A
// shallow clone, and a copy of the service, have none of them.
func TestDefects_RepairsAreInTheHistory(t *testing.T) {
	t.Parallel()
	repairs := map[string]bool{}
	for _, d := range defects() {
		repairs[d.repair] = true
	}
	for _, h := range unshown {
		repairs[h.repair] = true
	}
	var missing []string
	for repair := range repairs {
		if _, err := git(t.Context(), root, "merge-base", "--is-ancestor", repair, "HEAD"); err != nil {
			missing = append(missing, repair)
		}
	}
	if len(missing) == len(repairs) {
		t.Skip("NOT CHECKED: this clone has no history")
	}
	for _, repair := range missing {
		t.Errorf("%s is not in the history", repair)
	}
}

// declares reports whether a test file of the package declares the test.
func declares(t *testing.T, pkg, test string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		return bytes.Contains(mustRead(t, file), []byte("\nfunc "+test+"("))
	})
}

func mustRead(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The history of a small module: Double returned its argument, and was repaired together
// with its test.
const (
	broken   = "package double\n\nfunc Double(n int) int { return n }\n"
	repaired = "package double\n\nfunc Double(n int) int { return 2 * n }\n"
	test     = "package double\n\nimport \"testing\"\n\nfunc TestDouble(t *testing.T) {\n" +
		"\tif got := Double(2); got != 4 {\n\t\tt.Errorf(\"doubled: %d, want 4\", got)\n\t}\n}\n"
)

func TestShow_ShowsADefect(t *testing.T) {
	t.Parallel()
	printed, err := show(t, defect{prints: "doubled: 2"}, broken, repaired, test)
	if err != nil || !strings.Contains(printed, "TestDouble fails: double_test.go:7: doubled: 2, want 4") {
		t.Errorf("error %v, printed:\n%s", err, printed)
	}
}

func TestShow_RunsASubtestAlone(t *testing.T) {
	t.Parallel()
	const subtests = "package double\n\nimport \"testing\"\n\nfunc TestDouble(t *testing.T) {\n" +
		"\tt.Run(\"two\", func(t *testing.T) {\n\t\tif got := Double(2); got != 4 {\n\t\t\tt.Errorf(\"doubled: %d\", got)\n\t\t}\n\t})\n" +
		"\tt.Run(\"two again\", func(*testing.T) { panic(\"not asked for\") })\n}\n"
	printed, err := show(t, defect{test: "TestDouble/two", prints: "doubled: 2"}, broken, repaired, subtests)
	if err != nil || strings.Contains(printed, "not asked for") {
		t.Errorf("error %v, printed:\n%s", err, printed)
	}
}

func TestShow_AcceptsOnlyWhatShowsTheDefect(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		defect                 defect
		broken, repaired, test string
		want                   string
	}{
		"passes before the repair":   {defect{prints: "doubled"}, repaired + "\n", repaired, test, "passes or does not exist"},
		"does not compile before":    {defect{prints: "undefined"}, "package double\n", repaired, test, "does not run"},
		"fails at the repair":        {defect{prints: "doubled"}, broken, repaired, strings.Replace(test, "!= 4", "!= 5", 1), "does not pass"},
		"needs an edit in vain":      {defect{prints: "doubled", edits: []edit{{"double.go", "absent", ""}}}, broken, repaired, test, "contains 0 times"},
		"repair that does not exist": {defect{prints: "doubled", repair: "0123456789"}, broken, repaired, test, "git fetch --unshallow"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			printed, err := show(t, c.defect, c.broken, c.repaired, c.test)
			if err == nil || !strings.Contains(printed, "NOT SHOWN") || !strings.Contains(printed, c.want) {
				t.Errorf("error %v, want %q; printed:\n%s", err, c.want, printed)
			}
		})
	}
}

func TestFailure_IsTheLineAboutTheDefect(t *testing.T) {
	t.Parallel()
	d := defect{test: "TestDouble", prints: "doubled: 2"}
	failed := errors.New("exit status 1")
	for name, c := range map[string]struct {
		output string
		err    error
		line   string
	}{
		"fails":                {"    a_test.go:7: doubled: 2\n--- FAIL: TestDouble (0.00s)\n", failed, "a_test.go:7: doubled: 2"},
		"panics":               {"    a_test.go:7: doubled: 2\npanic: test timed out\n", failed, "a_test.go:7: doubled: 2"},
		"passes":               {"doubled: 2\n--- PASS: TestDouble (0.00s)\n", nil, ""},
		"does not exist":       {"testing: warning: no tests to run\n", nil, ""},
		"another reason":       {"    a_test.go:7: tripled\n--- FAIL: TestDouble (0.00s)\n", failed, ""},
		"another test":         {"doubled: 2\n--- FAIL: TestDoubleAgain (0.00s)\n", failed, ""},
		"does not compile":     {"a_test.go:7: undefined: doubled: 2\nFAIL a [build failed]\n", failed, ""},
		"a subtest of another": {"doubled: 2\n    --- FAIL: TestDouble (0.00s)\n", failed, ""},
	} {
		if line, err := d.failure(c.output, c.err); line != c.line || (err == nil) != (c.line != "") {
			t.Errorf("%s: %q, %v; want %q", name, line, err, c.line)
		}
	}
}

func TestShow_MakesTheTestCompileBeforeTheRepair(t *testing.T) {
	t.Parallel()
	d := defect{prints: "doubled: 2", edits: []edit{{"double.go", "func Twice(", "func Double("}}}
	if printed, err := show(t, d, strings.Replace(broken, "Double", "Twice", 1), repaired, test); err != nil {
		t.Errorf("%v, printed:\n%s", err, printed)
	}
}

func TestInOrder_IsTheOrderOfTheRepairs(t *testing.T) {
	t.Parallel()
	all := []defect{{name: "old", repair: "bb"}, {name: "new", repair: "cc"}, {name: "as old", repair: "bb"}}
	var names []string
	for _, d := range inOrder(all, "dd00\ncc00\nbb00\naa00\n") {
		names = append(names, d.name)
	}
	if want := []string{"new", "old", "as old"}; !slices.Equal(names, want) {
		t.Errorf("the order is %q, want %q", names, want)
	}
}

func TestNewTree_RefusesAFolderInUse(t *testing.T) {
	t.Parallel()
	if _, err := newTree(t.Context(), root, t.TempDir()); err == nil {
		t.Error("a folder was used that another run may use")
	}
}

// show makes a repository whose last commit repairs the defect, and shows it.
func show(t *testing.T, d defect, broken, repaired, test string) (printed string, err error) {
	t.Helper()
	repository := t.TempDir()
	commit := func(files map[string]string) {
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(repository, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		mustGit(t, repository, "add", ".")
		mustGit(t, repository, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "-m", "a commit")
	}
	mustGit(t, repository, "init", "--quiet")
	commit(map[string]string{"go.mod": "module example.com/double\n\ngo 1.26\n", "double.go": broken})
	commit(map[string]string{"double.go": repaired, "double_test.go": test})

	d.name, d.pkg, d.test = "doubled", ".", cmp.Or(d.test, "TestDouble")
	if d.repair == "" {
		d.repair = strings.TrimSpace(mustGit(t, repository, "rev-parse", "HEAD"))
	}
	tree, err := newTree(t.Context(), repository, filepath.Join(t.TempDir(), "tree"))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = showAll(t.Context(), tree, []defect{d}, &out)
	if removed := tree.remove(); removed != nil {
		t.Error(removed)
	}
	return out.String(), err
}

func mustGit(t *testing.T, folder string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = folder
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, output)
	}
	return string(output)
}
