// Command mutants takes each protection of the service away, one at a time, and runs the
// test that stands for it. The test must fail: a protection whose absence nobody notices
// will be absent one day.
//
// The change is an overlay of the build, so that no file of the repository is touched.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
)

// mutant is a protection and the test that must fail without it.
type mutant struct {
	// protection names what is taken away.
	protection string
	// file is where, relative to the root of the repository. The text before, which occurs
	// once in it, becomes the text after.
	file, before, after string
	// test is the name of the test that fails then, pkg its package.
	pkg, test string
}

func main() {
	only := flag.String("only", "", "regular expression of the protections to take away; default all")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *only, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// run takes the protections away whose names match. It returns an error that counts those
// which no test missed.
func run(ctx context.Context, only string, out io.Writer) error {
	chosen, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	tried, survived := 0, 0
	for _, m := range all() {
		if !chosen.MatchString(m.protection) {
			continue
		}
		tried++
		killed, err := m.run(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", m.protection, err)
		}
		verdict := "killed by"
		if !killed {
			survived++
			verdict = "SURVIVED"
		}
		if _, err := fmt.Fprintf(out, "%-60s %s %s\n", m.protection, verdict, m.test); err != nil {
			return err
		}
	}
	if survived > 0 || tried == 0 {
		return fmt.Errorf("%d of %d protections were taken away and no test failed", survived, tried)
	}
	_, err = fmt.Fprintf(out, "%d protections taken away, each missed by its test\n", tried)
	return err
}

// run reports whether the test fails without the protection. It must pass with it, and it
// must compile without it: a program that does not build protects nothing.
func (m mutant) run(ctx context.Context) (killed bool, err error) {
	dir, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the system cleans its temporary folder
	overlay, err := m.overlay(dir)
	if err != nil {
		return false, err
	}
	if passes, output := m.runTest(ctx, os.Environ()); !passes {
		return false, fmt.Errorf("%s fails without any change:\n%s", m.test, output)
	}
	// A variable instead of an argument: it also reaches the binaries that the test builds.
	passes, output := m.runTest(ctx, append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+overlay))
	if !passes && !strings.Contains(output, "--- FAIL") && !strings.Contains(output, "panic:") {
		return false, fmt.Errorf("the mutant does not run:\n%s", output)
	}
	return !passes, ctx.Err()
}

// runTest reports whether the test passes. A test that does not exist fails.
func (m mutant) runTest(ctx context.Context, environ []string) (passes bool, output string) {
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-run", "^"+m.test+"$", m.pkg)
	cmd.Env = environ
	printed, err := cmd.CombinedOutput()
	return err == nil && !strings.Contains(string(printed), "no tests to run"), string(printed)
}

// overlay writes the changed file, and the description of the overlay, which it returns.
func (m mutant) overlay(dir string) (string, error) {
	changed, err := m.mutate()
	if err != nil {
		return "", err
	}
	original, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	replacement := filepath.Join(dir, filepath.Base(m.file))
	description, err := json.Marshal(map[string]map[string]string{"Replace": {original: replacement}})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, errors.Join(os.WriteFile(replacement, changed, 0o600), os.WriteFile(path, description, 0o600))
}

// mutate returns the file without the protection.
func (m mutant) mutate() ([]byte, error) {
	text, err := os.ReadFile(m.file)
	if err != nil {
		return nil, err
	}
	if n := strings.Count(string(text), m.before); n != 1 {
		return nil, fmt.Errorf("%s contains %d times, want once: %s", m.file, n, m.before)
	}
	return []byte(strings.Replace(string(text), m.before, m.after, 1)), nil
}
