// Command sabotage checks the checker: it takes a protection of the service away, and runs
// the fault that needs the protection. The fault run must fail. A fault run that accepts a
// broken service proves nothing about a sound one.
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
	"strings"
	"time"

	"example.com/orders/internal/test/faults"
	"example.com/orders/internal/test/overlay"
)

// seed makes the runs of a sabotage and of the sound service alike.
const seed = 1

// limit bounds one run, without the time that the build takes.
const limit = time.Minute

func main() {
	only := flag.String("only", "", "the name of the only sabotage; default all")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *only, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "sabotage:", err)
		os.Exit(1)
	}
}

// run sabotages the service in each way, or in one, and returns an error that names what the
// fault run accepted.
func run(ctx context.Context, only string, out io.Writer) error {
	var bad []error
	found := false
	for _, s := range sabotages {
		if only != "" && s.name != only {
			continue
		}
		found = true
		verdict, err := s.check(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			bad = append(bad, fmt.Errorf("%s: %w", s.name, err))
			verdict = "NOT FOUND"
		}
		if _, err := fmt.Fprintf(out, "%-28s %-24s %s\n", s.name, s.fault, verdict); err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("there is no sabotage %q", only)
	}
	return errors.Join(bad...)
}

// check returns what the fault run reports about the sabotaged service first. It is an error
// if the fault run accepts the service, or fails for another reason.
func (s sabotage) check(ctx context.Context) (verdict string, err error) {
	dir, err := os.MkdirTemp("", "sabotage-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the system cleans its temporary folder
	description, err := overlay.Write(dir, s.edits...)
	if err != nil {
		return "", err
	}
	output, err := runPlan(ctx, overlay.Environ(description), s.plan())
	switch {
	case err == nil:
		return "", errors.New("the fault run accepts it")
	case !strings.Contains(output, "--- FAIL: TestPlan"):
		return "", fmt.Errorf("the fault run does not run: %w\n%s", err, output)
	}
	return firstReport(output), nil
}

// plan returns the plan of the run. Its fault may strike more often than in a usual run.
func (s sabotage) plan() faults.Plan {
	fault, _ := faults.ByName(s.fault) // a test checks the names
	fault.Strikes = max(fault.Strikes, s.strikes)
	return faults.PlanOf(fault, seed)
}

// runPlan builds the fault run and runs a plan. It returns what it prints.
func runPlan(ctx context.Context, environ []string, plan faults.Plan) (output string, err error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-vet=off", "-count=1", "-v", "-timeout="+limit.String(),
		"-run=^TestPlan$", "./internal/test/faults", "-plan="+plan.String())
	cmd.Env = environ
	printed, err := cmd.CombinedOutput()
	return string(printed), err
}

// firstReport returns the first line of the output that reports what is wrong.
func firstReport(output string) string {
	for line := range strings.Lines(output) {
		if _, report, found := strings.Cut(strings.TrimSpace(line), ".go:"); found {
			if _, text, found := strings.Cut(report, ": "); found {
				return text[:min(len(text), 160)]
			}
		}
	}
	return "failed"
}
