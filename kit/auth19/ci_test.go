package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// workflow is the part of a workflow for GitHub Actions that the tests read.
type workflow struct {
	Jobs map[string]struct {
		Steps []step19
	}
}

// step19 runs a program, or uses an action.
type step19 struct {
	Uses, Run string
	With      map[string]string
}

// pageJob returns the steps of the job in ci.md.
func pageJob(t *testing.T) []step19 {
	t.Helper()
	_, rest, _ := strings.Cut(mustRead(t, "ci.md"), "```yaml\n")
	text, _, _ := strings.Cut(rest, "```")
	var w workflow
	if err := yaml.Unmarshal([]byte(text), &w); err != nil {
		t.Fatal(err)
	}
	return w.Jobs["auth19"].Steps
}

// runner is a machine that runs a job: a folder with a server and a description.
type runner struct {
	dir, port, summary string
}

func newRunner(t *testing.T, more string) *runner {
	t.Helper()
	r := &runner{dir: t.TempDir(), port: freePort(t)}
	r.summary = filepath.Join(r.dir, "summary")
	copyFile(t, "examples/server.py", filepath.Join(r.dir, "server.py"))
	text := strings.Replace(mustRead(t, "examples/auth19.yaml"), "8080", r.port, 1) + more
	if err := os.WriteFile(filepath.Join(r.dir, "auth19.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return r
}

// run runs a step as GitHub does, and returns the exit status.
func (r *runner) run(t *testing.T, s step19) (status int) {
	t.Helper()
	if strings.HasPrefix(s.Uses, "actions/checkout@") && s.With["path"] != "" {
		root, err := filepath.Abs("../..")
		if err := errors.Join(err, os.Symlink(root, filepath.Join(r.dir, s.With["path"]))); err != nil {
			t.Fatal(err)
		}
	}
	if s.Run == "" {
		return 0
	}
	log, err := os.Create(filepath.Join(r.dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-e", "-c", strings.ReplaceAll(s.Run, "8080", r.port))
	cmd.Dir, cmd.Stdout, cmd.Stderr = r.dir, log, log
	cmd.Env = append(os.Environ(), "RUNNER_TEMP="+r.dir, "GITHUB_STEP_SUMMARY="+r.summary)
	startGroup(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopGroup(cmd) })
	_ = cmd.Wait() // the exit status is in the state
	t.Logf("%s\n%s: %s", s.Run, cmd.ProcessState, mustRead(t, log.Name()))
	return cmd.ProcessState.ExitCode()
}

// The job of ci.md runs the example. Each exit status means what the page says.
func TestCI_RunsTheJobOfThePage(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("NOT CHECKED: ", err)
	}
	for more, want := range map[string]struct {
		status          int
		failed, skipped int
		summary         string
	}{
		"":                 {broken, 2, 13, "## Causes\n\n- D: expected that "},
		"known: [D, B]":    {kept, 0, 15, "## Causes\n\n- D (known): expected that "},
		"known: [D, B, A]": {broken, 1, 15, "## Causes\n\n- A: passes, but is known to fail"},
		"colour: red":      {unusable, 0, 0, ""},
	} {
		t.Run(more, func(t *testing.T) {
			t.Parallel()
			r := newRunner(t, more)
			var statuses []int

			for _, s := range pageJob(t) {
				statuses = append(statuses, r.run(t, s))
			}

			if got := fmt.Sprint(statuses); got != fmt.Sprintf("[0 0 0 0 0 %d 0]", want.status) {
				t.Errorf("the steps end with %s, want %d for the run", got, want.status)
			}
			if want.status == unusable {
				return
			}
			var suite junitSuite
			if err := xml.Unmarshal([]byte(mustRead(t, filepath.Join(r.dir, "auth19.xml"))), &suite); err != nil {
				t.Fatal(err)
			}
			if suite.Tests != 19 || suite.Failures != want.failed || suite.Skipped != want.skipped {
				t.Errorf("JUnit has %d tests, %d failures, %d skipped", suite.Tests, suite.Failures, suite.Skipped)
			}
			if _, text, _ := strings.Cut(mustRead(t, r.summary), "\n\n"); !strings.HasPrefix(text, want.summary) {
				t.Errorf("the summary is %.500s, want %q", text, want.summary)
			}
		})
	}
}

// Each verdict becomes the case that the page names.
func TestCI_ShowsVerdictsAsThePageSays(t *testing.T) {
	t.Parallel()
	page := mustRead(t, "ci.md")
	for row, got := range map[string]result{
		"pass | passed":         {Verdict: "pass"},
		"differs | passed":      {Verdict: "differs"},
		"fail | failed":         {Verdict: "fail"},
		"fail, known | skipped": {Verdict: "fail", Known: true},
		"fail, follows from an earlier one | skipped": {Verdict: "fail", Follows: "B"},
		"pass, but known to fail | failed":            {Verdict: "pass", Known: true},
		"not applicable | skipped":                    {Verdict: "not applicable"},
		"cannot tell | skipped":                       {Verdict: "cannot tell"},
		"unreachable | error":                         {Verdict: "unreachable"},
	} {
		var suite junitSuite

		suite.add(got, "")

		want := map[string][3]int{"passed": {}, "failed": {1, 0, 0}, "error": {0, 1, 0}, "skipped": {0, 0, 1}}
		_, name, _ := strings.Cut(row, " | ")
		if counts := [3]int{suite.Failures, suite.Errors, suite.Skipped}; counts != want[name] || !strings.Contains(page, "| "+row+" |") {
			t.Errorf("%s: failures, errors, skipped = %v, on the page = %v", row, counts, strings.Contains(page, "| "+row+" |"))
		}
	}
}
