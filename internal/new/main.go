// Command new copies this service under another name: `make new MODULE=… DIR=…`. It
// renames the module, the commands, the settings and everything else that carries the
// service's name. docs/guard.md describes the copy.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "new:", err)
		os.Exit(1)
	}
}

// run makes one copy of the service in the current folder.
func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("new", flag.ContinueOnError)
	module := flags.String("module", "", "module path of the copy, such as example.com/tickets")
	dir := flags.String("dir", "", "folder of the copy; it must be absent or empty")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *module == "" || *dir == "" {
		return errors.New("usage: make new MODULE=example.com/tickets DIR=../tickets")
	}
	steps := log.New(out, "", 0)
	if err := copyService(".", *module, *dir, steps); err != nil {
		return err
	}
	steps.Printf(`
  cd %s
  make run     # the service with all that it needs, and a session to paste
  make test    # its tests
`, *dir)
	return nil
}

// copyService copies the service in root to dir, under the module's name, and prints each
// step. It writes nothing unless all input is good.
func copyService(root, module, dir string, steps *log.Logger) error {
	from, err := ownName(root)
	if err != nil {
		return err
	}
	to, err := parseName(module)
	if err != nil {
		return err
	}
	if err := checkFolder(root, dir); err != nil {
		return err
	}
	if _, err := output(root, "git", "var", "GIT_COMMITTER_IDENT"); err != nil {
		return fmt.Errorf("the copy is committed under your name: git config --global user.name and user.email (%w)", err)
	}
	files, err := readTree(root)
	if err != nil {
		return err
	}
	r, err := newRenamer(from, to)
	if err != nil {
		return err
	}
	renamed, err := files.rename(r)
	if err != nil {
		return err
	}
	steps.Printf("renamed %d files: %s is %s, %s_… is %s_…", len(files), from.module, to.module, from.upper, to.upper)
	if err := renamed.write(dir); err != nil {
		return err
	}
	steps.Print("wrote them to ", dir)
	return renamed.finish(dir, from, steps)
}

// finish sorts the requirements of each module, which the new name may have moved, and
// commits the copy.
func (t tree) finish(dir string, from name, steps *log.Logger) error {
	modules := 0
	for file := range t {
		if path.Base(file) == "go.mod" {
			modules++
			if _, err := output(filepath.Join(dir, path.Dir(file)), "go", "mod", "edit", "-fmt"); err != nil {
				return err
			}
		}
	}
	steps.Printf("formatted %d go.mod", modules)
	for _, args := range [][]string{
		{"init", "--quiet"}, {"add", "--all"}, {"commit", "--quiet", "--message=Start from a copy of " + from.module},
	} {
		if _, err := output(dir, "git", args...); err != nil {
			return err
		}
	}
	steps.Print("committed them to a new repository")
	return nil
}

// checkFolder returns an error unless dir is absent or empty, and outside of root.
func checkFolder(root, dir string) error {
	own, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	full, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if full == own || strings.HasPrefix(full, own+string(filepath.Separator)) {
		return fmt.Errorf("DIR %s is inside this repository: name a folder beside it", dir)
	}
	entries, err := os.ReadDir(dir)
	switch {
	case os.IsNotExist(err):
		return nil
	case err != nil:
		return err
	case len(entries) > 0:
		return fmt.Errorf("DIR %s is not empty: name a new folder", dir)
	}
	return nil
}

// output runs a command in a folder and returns what it prints.
func output(dir, command string, args ...string) (string, error) {
	cmd := exec.CommandContext(context.Background(), command, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("%s: %w: %s", cmd, err, strings.TrimSpace(string(exit.Stderr)))
	}
	return string(out), err
}
