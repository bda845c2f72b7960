// Command defects shows the defects of this service again. For each it checks the commit
// before the repair out, adds the regression test of the repair, and runs it: it must fail
// with the words of the defect. At the repair itself, the test must pass.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// page is what -markdown writes.
const page = "docs/defects.md"

func main() {
	name := flag.String("name", "", "show this defect")
	all := flag.Bool("all", false, "show every defect")
	list := flag.Bool("list", false, "list the defects and run nothing")
	markdown := flag.Bool("markdown", false, "write "+page+" and run nothing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	var err error
	switch {
	case *markdown:
		err = os.WriteFile(page, []byte(document()), 0o644)
	case *list:
		listAll(os.Stdout)
	case *all:
		err = runAll(ctx, os.Stdout)
	default:
		err = runOne(ctx, *name, os.Stdout)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "defects:", err)
		os.Exit(1)
	}
}

func listAll(out io.Writer) {
	for _, d := range defects() {
		say(out, "%-38s %s\n", d.name, d.symptom)
	}
}

// runOne shows the defect of a name.
func runOne(ctx context.Context, name string, out io.Writer) error {
	for _, d := range defects() {
		if d.name == name {
			return run(ctx, []defect{d}, out)
		}
	}
	for _, h := range unshown {
		if h.name == name {
			return fmt.Errorf("%s cannot be shown: %s", name, h.reason)
		}
	}
	return fmt.Errorf("no defect is called %q: go run ./internal/test/defects -list names them", name)
}

// runAll shows every defect, in the order of the repairs: the compiler's cache has most
// packages of the commit before.
func runAll(ctx context.Context, out io.Writer) error {
	history, err := git(ctx, ".", "rev-list", "HEAD")
	if err != nil {
		return err
	}
	return run(ctx, inOrder(defects(), history), out)
}

// inOrder returns defects in the order in which a list of commits has their repairs.
func inOrder(all []defect, history string) []defect {
	return slices.SortedStableFunc(slices.Values(all), func(a, b defect) int {
		return strings.Index(history, a.repair) - strings.Index(history, b.repair)
	})
}

// run shows defects of the repository in the working directory. It uses the same folder
// each time, because the cache of the compiler goes by the folder.
func run(ctx context.Context, chosen []defect, out io.Writer) error {
	tree, err := newTree(ctx, ".", filepath.Join(os.TempDir(), "orders-defects"))
	if err != nil {
		return err
	}
	return errors.Join(showAll(ctx, tree, chosen, out), tree.remove())
}

// showAll shows one defect after the other. It returns an error that names those which
// were not shown.
func showAll(ctx context.Context, tree *tree, chosen []defect, out io.Writer) error {
	var bad []error
	for _, d := range chosen {
		say(out, "== %s: %s\n", d.name, d.symptom)
		if err := d.show(ctx, tree, out); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			say(out, "   NOT SHOWN: %v\n", err)
			bad = append(bad, fmt.Errorf("%s was not shown", d.name))
		}
	}
	say(out, "\n%d of %d shown\n", len(chosen)-len(bad), len(chosen))
	return errors.Join(bad...)
}

// show runs the test before the repair, where it must fail, and at the repair, where it
// must pass.
func (d defect) show(ctx context.Context, tree *tree, out io.Writer) error {
	if err := tree.moveBefore(ctx, d); err != nil {
		return err
	}
	line, err := d.failure(tree.test(ctx, d.pkg, d.test))
	if err != nil {
		return fmt.Errorf("before %s, %w", d.repair, err)
	}
	say(out, "   before %s, %s fails: %s\n", d.repair, d.test, line)

	if err := tree.moveToRepair(ctx, d); err != nil {
		return err
	}
	if output, err := tree.test(ctx, d.pkg, d.test); err != nil || !reports("PASS", d.test, output) {
		return fmt.Errorf("at %s, %s does not pass: %w\n%s", d.repair, d.test, err, output)
	}
	say(out, "   at     %s, %s passes\n", d.repair, d.test)
	return nil
}

// failure returns the line that a failed test printed about the defect. What does not
// compile, passes, or fails with other words shows nothing.
func (d defect) failure(output string, err error) (string, error) {
	ran := reports("FAIL", d.test, output) || regexp.MustCompile(`(?m)^panic: `).MatchString(output)
	line := regexp.MustCompile(`(?m)^.*` + regexp.QuoteMeta(d.prints) + `.*$`).FindString(output)
	switch {
	case err == nil:
		return "", fmt.Errorf("%s passes or does not exist\n%s", d.test, output)
	case !ran:
		return "", fmt.Errorf("%s does not run: %w\n%s", d.test, err, output)
	case line == "":
		return "", fmt.Errorf("%s fails for another reason than %q\n%s", d.test, d.prints, output)
	}
	return trimmed(line), nil
}

// reports reports whether the output of go test -v has the verdict on a test or a subtest.
func reports(verdict, test, output string) bool {
	indented := strings.Repeat("    ", strings.Count(test, "/"))
	return regexp.MustCompile(`(?m)^` + indented + `--- ` + verdict + `: ` + regexp.QuoteMeta(test) + ` \(`).MatchString(output)
}

// say prints progress. Nobody reads an error of the terminal.
func say(out io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(out, format, args...) }
