// Command mutants takes each protection of the service away, one at a time, and runs the
// test that stands for it. The test must fail: a protection whose absence nobody notices
// will be absent one day.
//
// The change is an overlay of the build, so that no file of the repository is touched.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strings"

	"example.com/orders/internal/test/overlay"
)

// mutant is a protection and the test that must fail without it.
type mutant struct {
	// protection names what is taken away.
	protection string
	// file is where, relative to the root of the repository. The text before, which occurs
	// once in it, becomes the text after.
	file, before, after string
	// pkg and test are the package and the name of the test that fails then.
	pkg, test string
}

// testTimeout ends a mutant whose test waits forever. The panic of the test counts as a
// failure.
const testTimeout = "2m"

func main() {
	only := flag.String("only", "", "regular expression of the mutants, each \"area: protection\"; default all")
	list := flag.Bool("list", false, "list the mutants and run nothing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *only, *list, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// run takes the protections away whose names match, or lists them. It returns an error
// that names those which no test missed.
func run(ctx context.Context, only string, list bool, out io.Writer) error {
	chosen, err := choose(only)
	if err != nil {
		return err
	}
	if list {
		for _, a := range chosen {
			for _, m := range a.mutants {
				say(out, "%s: %s: %s in %s\n", a.name, m.protection, m.test, m.pkg)
			}
		}
		return nil
	}
	if err := passUnchanged(ctx, chosen, out); err != nil {
		return err
	}
	return takeAway(ctx, chosen, out)
}

// choose returns the mutants whose names match, by area.
func choose(only string) ([]area, error) {
	name, err := regexp.Compile(only)
	if err != nil {
		return nil, err
	}
	var chosen []area
	for _, a := range areas {
		found := area{name: a.name}
		for _, m := range a.mutants {
			if name.MatchString(a.name + ": " + m.protection) {
				found.mutants = append(found.mutants, m)
			}
		}
		if len(found.mutants) > 0 {
			chosen = append(chosen, found)
		}
	}
	if len(chosen) == 0 {
		return nil, errors.New("no mutant matches")
	}
	return chosen, nil
}

// passUnchanged runs the tests of the mutants once each, without any change: they must
// pass. A test that fails in any case would kill every mutant.
func passUnchanged(ctx context.Context, chosen []area, out io.Writer) error {
	tests := map[string][]string{} // by package
	for _, a := range chosen {
		for _, m := range a.mutants {
			tests[m.pkg] = append(tests[m.pkg], m.test)
		}
	}
	for pkg, names := range tests {
		output, err := goTest(ctx, os.Environ(), pkg, strings.Join(names, "|"))
		for _, name := range names {
			if !strings.Contains(output, "--- PASS: "+name+" (") {
				return fmt.Errorf("%s fails without any change: %w\n%s", name, err, output)
			}
		}
		say(out, "unchanged, the tests in %s pass\n", pkg)
	}
	return nil
}

// takeAway takes the protections away and says for each whether its test failed.
func takeAway(ctx context.Context, chosen []area, out io.Writer) error {
	var bad []error
	var summary strings.Builder
	for _, a := range chosen {
		killed := 0
		for _, m := range a.mutants {
			missed, err := m.run(ctx)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			verdict := "killed by"
			switch {
			case err != nil:
				verdict = "DOES NOT RUN, for"
				bad = append(bad, fmt.Errorf("%s: %s: %w", a.name, m.protection, err))
			case missed:
				killed++
			default:
				verdict = "SURVIVED"
				bad = append(bad, fmt.Errorf("%s: %s: no test failed", a.name, m.protection))
			}
			say(out, "%-14s %-62s %s %s\n", a.name, m.protection, verdict, m.test)
		}
		say(&summary, "%-14s %3d of %3d killed\n", a.name, killed, len(a.mutants))
	}
	say(out, "\n%s", summary.String())
	return errors.Join(bad...)
}

// run reports whether the test fails without the protection. The program must compile
// without it: one that does not build protects nothing. Nor does a data race count, which
// says nothing about the protection.
func (m mutant) run(ctx context.Context) (killed bool, err error) {
	dir, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the system cleans its temporary folder
	description, err := overlay.Write(dir, m.edit())
	if err != nil {
		return false, err
	}
	output, failed := goTest(ctx, overlay.Environ(description), m.pkg, m.test)
	switch {
	case failed == nil:
		return false, nil
	case strings.Contains(output, "DATA RACE"),
		!strings.Contains(output, "--- FAIL: "+m.test+" (") && !strings.Contains(output, "panic: "):
		return false, fmt.Errorf("the mutant does not run: %w\n%s", failed, output)
	}
	return true, nil
}

func (m mutant) edit() overlay.Edit {
	return overlay.Edit{File: m.file, Before: m.before, After: m.after}
}

// goTest runs the tests of a package whose names match, and returns what they print.
func goTest(ctx context.Context, environ []string, pkg, names string) (output string, err error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-vet=off", "-count=1", "-v", "-timeout="+testTimeout, "-run=^("+names+")$", pkg)
	cmd.Env = environ
	printed, err := cmd.CombinedOutput()
	return string(printed), err
}

// say prints progress. Nobody reads an error of the terminal.
func say(out io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(out, format, args...) }
