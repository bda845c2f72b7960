package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const makefile = `
good: ; @echo 'figures: 3 runs'
tests: ; @printf -- '--- PASS: TestA (0.0s)\n    --- PASS: TestA/one (0.0s)\n    x_test.go:7: NOT CHECKED: the disk\nok\n'
logged: ; @printf -- '    x_test.go:7: figures: 5 cuts | 1 kill\n        x_test.go:7: figures: of a process\n--- PASS: TestA (0.0s)\n'
red: ; @echo 'figures: 1 run'; exit 1
look: ; @cp reports/night.md reports/seen.md
`

// inLab changes to the lab in a new repository with these parts.
func inLab(t *testing.T) {
	t.Helper()
	lab := filepath.Join(t.TempDir(), "lab")
	if err := os.MkdirAll(filepath.Join(lab, "reports"), 0o750); err != nil {
		t.Fatal(err)
	}
	t.Chdir(lab)
	change(t, "Makefile", makefile)
	change(t, "../.gitignore", "/bin/\n")
	git(t, "init", "--quiet")
	commit(t)
}

func change(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func commit(t *testing.T) {
	t.Helper()
	git(t, "add", ":/")
	git(t, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--message=a")
}

func git(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v\n%s", args, err, out)
	}
}

// rows returns a report's rows.
func rows(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "---|\n")
	return slices.Collect(strings.Lines(table))
}

// results returns the columns that tests can know: "part: result: figures".
func results(t *testing.T, file string) []string {
	t.Helper()
	var found []string
	for _, row := range rows(t, file) {
		cells := strings.Split(row, "|")
		found = append(found, strings.TrimSpace(cells[1])+":"+cells[5]+":"+cells[6])
	}
	return found
}

func TestRun_GoesOnAfterARedPart(t *testing.T) {
	inLab(t)
	night := []string{"red", "good", "tests", "logged", "later"}

	err := run(t.Context(), night, night[:4])

	if err == nil || !strings.Contains(err.Error(), "red: exit status 2") {
		t.Errorf("the night ends with %v, want the red part", err)
	}
	want := []string{
		"red: RED : 1 run ",
		"good: good : 3 runs ",
		"tests: in part : 2 tests; NOT CHECKED: the disk ",
		"logged: good : 5 cuts / 1 kill ",
		"later: NOT RUN : ",
	}
	if diff := cmp.Diff(want, results(t, reportFile)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The report is complete at any moment, so that a night that is cut off leaves one.
func TestRun_WritesTheReportAfterEachPart(t *testing.T) {
	inLab(t)
	night := []string{"good", "look", "logged"}
	for range 2 { // the second night begins with the first one's report
		if err := run(t.Context(), night, night); err != nil {
			t.Error(err)
		}
		want := []string{"good: good : 3 runs ", "look: NOT RUN : ", "logged: NOT RUN : "}
		if diff := cmp.Diff(want, results(t, "reports/seen.md")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestRun_ReplacesTheRowOfAPart(t *testing.T) {
	inLab(t)
	night := []string{"good", "red"}
	if err := run(t.Context(), night, night); err == nil {
		t.Error("a red part makes no night red")
	}
	before := rows(t, reportFile)
	change(t, "Makefile", strings.Replace(makefile, "exit 1", "exit 0", 1))

	err := run(t.Context(), night, night[1:])

	after := rows(t, reportFile)
	if err != nil || after[0] != before[0] {
		t.Errorf("%v, the row of the other part is %q, want %q", err, after[0], before[0])
	}
	if strings.Contains(before[1], "with changes") || !strings.Contains(after[1], " with changes | ") || !strings.Contains(after[1], "| good |") {
		t.Errorf("the repaired part is %q, was %q", after[1], before[1])
	}
}
