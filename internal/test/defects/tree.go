package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// testTimeout ends a test that waits forever before the repair.
const testTimeout = "5m"

// tree is a second working tree of the repository, in a folder of its own.
type tree struct {
	repository, folder string
}

// newTree adds a working tree in a folder that must not exist yet.
func newTree(ctx context.Context, repository, folder string) (*tree, error) {
	if _, err := os.Lstat(folder); err == nil {
		return nil, fmt.Errorf("%s exists: wait until the other run ends, or remove the folder and run git worktree prune", folder)
	}
	t := &tree{repository: repository, folder: folder}
	_, err := git(ctx, repository, "worktree", "add", "--quiet", "--detach", folder)
	return t, err
}

// remove removes the working tree. It does so after an interrupt, too.
func (t *tree) remove() error {
	_, err := git(context.Background(), t.repository, "worktree", "remove", "--force", t.folder)
	return err
}

// moveTo makes the working tree that of a commit.
func (t *tree) moveTo(ctx context.Context, commit string) error {
	if _, err := git(ctx, t.folder, "cat-file", "-e", commit+"^{commit}"); err != nil {
		return fmt.Errorf("this clone has no commit %s; if it is shallow, run git fetch --unshallow", commit)
	}
	if _, err := git(ctx, t.folder, "clean", "-fdxq"); err != nil {
		return err
	}
	_, err := git(ctx, t.folder, "switch", "--quiet", "--detach", "--discard-changes", commit)
	return err
}

// moveBefore makes the working tree that of the commit before the repair, with the test
// of the defect.
func (t *tree) moveBefore(ctx context.Context, d defect) error {
	if err := t.moveTo(ctx, d.repair+"~1"); err != nil {
		return err
	}
	if err := t.takeTest(ctx, d); err != nil {
		return err
	}
	for _, e := range d.edits {
		if err := e.apply(t.folder); err != nil {
			return err
		}
	}
	return nil
}

// moveToRepair makes the working tree that of the repair, with the test of the defect.
func (t *tree) moveToRepair(ctx context.Context, d defect) error {
	if err := t.moveTo(ctx, d.repair); err != nil {
		return err
	}
	return t.takeTest(ctx, d)
}

// takeTest takes the files of the test from the commit that has them.
func (t *tree) takeTest(ctx context.Context, d defect) error {
	files, from := d.files, cmp.Or(d.from, d.repair)
	if files == nil {
		changed, err := git(ctx, t.folder, "diff", "--name-only", "--no-renames", from+"~1", from)
		if err != nil {
			return err
		}
		files = testFiles(strings.Fields(changed))
	}
	for _, file := range files {
		if err := t.take(ctx, from, file); err != nil {
			return err
		}
	}
	return nil
}

// take takes a file from a commit, or removes it if the commit has none.
func (t *tree) take(ctx context.Context, commit, file string) error {
	if _, err := git(ctx, t.folder, "cat-file", "-e", commit+":"+file); err != nil {
		return os.RemoveAll(filepath.Join(t.folder, file))
	}
	_, err := git(ctx, t.folder, "restore", "--source="+commit, "--", file)
	return err
}

// testFiles returns those files that are tests or help them.
func testFiles(files []string) []string {
	var found []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "internal/test/") || path.Base(path.Dir(file)) == "testdata" {
			found = append(found, file)
		}
	}
	return found
}

// test runs one test or subtest of a package and returns what it prints.
func (t *tree) test(ctx context.Context, pkg, name string) (output string, err error) {
	only := "^" + strings.ReplaceAll(regexp.QuoteMeta(name), "/", "$/^") + "$"
	cmd := exec.CommandContext(ctx, "go", "test", "-vet=off", "-count=1", "-v", "-parallel=4", "-timeout="+testTimeout, "-run="+only, "./"+pkg)
	cmd.Dir = t.folder
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // so that go test ends the test, too
	printed, err := cmd.CombinedOutput()
	return string(printed), err
}

// apply replaces the text of the edit, which must occur once, or writes a new file.
func (e edit) apply(folder string) error {
	file := filepath.Join(folder, e.file)
	if e.before == "" {
		return os.WriteFile(file, []byte(e.after), 0o600)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if n := strings.Count(string(text), e.before); n != 1 {
		return fmt.Errorf("%s contains %d times, want once: %s", e.file, n, e.before)
	}
	return os.WriteFile(file, []byte(strings.Replace(string(text), e.before, e.after, 1)), 0o600)
}

// git runs git in a folder and returns what it prints.
func git(ctx context.Context, folder string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = folder
	output, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, exit.Stderr)
	}
	return string(output), err
}
