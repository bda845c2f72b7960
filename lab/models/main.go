// Command models searches the complete state space of four models: the guard, shared
// transactions, card payments and the outbox. Then it removes the protections, one at a
// time: the checker must find the defect. README.md explains the models.
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
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// folder contains the models, relative to lab/.
const folder = "models"

func main() {
	only := flag.String("only", "", "regular expression of the checks, each \"model: what\"; default all")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *only, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "models:", err)
		os.Exit(1)
	}
}

// run runs the selected checks, and returns an error that names the failed ones.
func run(ctx context.Context, only string, out io.Writer) error {
	name, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	say(out, "%-7s %-34s %9s %6s %8s  %s\n", "model", "check", "states", "depth", "seconds", "verdict")
	var bad []error
	count, states := 0, 0
	for _, c := range checks {
		if !name.MatchString(c.String()) {
			continue
		}
		count++
		began := time.Now()
		r, err := c.run(ctx)
		if err == nil {
			err = c.judge(r)
		}
		visited, _ := strconv.Atoi(r.states) // none if the check did not run
		states += visited
		verdict := verdictOf(c, r, err)
		say(out, "%-7s %-34s %9s %6s %8.1f  %s\n", c.model, c.what, r.states, r.depth, time.Since(began).Seconds(), verdict)
		if err != nil {
			bad = append(bad, fmt.Errorf("%s: %w", c, err))
		}
	}
	if count == 0 {
		return errors.New("no check matches")
	}
	say(out, "figures: %d checks, %d states\n", count, states)
	return errors.Join(bad...)
}

func verdictOf(c check, r result, err error) string {
	switch {
	case err != nil:
		return "FAILED"
	case c.sound:
		return "sound"
	}
	return "found: " + r.violation
}

func say(out io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(out, format, args...) // a failed write to the report is harmless
}

// String returns the name of the check.
func (c check) String() string { return c.model + ": " + c.what }

// run lets Spin generate the verifier, compiles it and runs it.
func (c check) run(ctx context.Context) (result, error) {
	dir, err := os.MkdirTemp("", "spin-")
	if err != nil {
		return result{}, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the system cleans temporary folders
	file := c.model + ".pml"
	text, err := os.ReadFile(filepath.Join(folder, file))
	if err != nil {
		return result{}, err
	}
	if err := os.WriteFile(filepath.Join(dir, file), text, 0o600); err != nil {
		return result{}, err
	}
	// Unless -o3 is given, Spin merges steps. With -DPEG, it counts how often each one was taken.
	generate := append([]string{"spin", "-o3", "-a"}, c.defines()...)
	compile := []string{"gcc", "-O1", "-DCOLLAPSE", "-DMEMLIM=3000", "-DNFAIR=4", "-DPEG", "-o", "pan", "pan.c"}
	verify := []string{"./pan", "-m100000", "-w22"}
	if c.liveness {
		verify = append(verify, "-a", "-f") // with weak fairness
	} else {
		// With a claim, Spin does not report stuck processes.
		compile = append(compile, "-DSAFETY", "-DNOCLAIM")
	}
	var output strings.Builder
	for _, command := range [][]string{append(generate, file), compile, {"./pan", "-d"}, verify} {
		printed, err := inFolder(ctx, dir, command)
		if err != nil {
			return result{}, err
		}
		output.WriteString(printed)
	}
	return read(output.String(), strings.Split(string(text), "\n")), nil
}

// defines returns the options that set the macros of the check.
func (c check) defines() []string {
	var options []string
	for _, macro := range c.macros {
		options = append(options, "-D"+macro)
	}
	return options
}

func inFolder(ctx context.Context, dir string, command []string) (string, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = dir
	output, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, output)
	}
	return string(output), nil
}

// result is the parsed output of a verifier.
type result struct {
	states, depth string
	// violation is the first violated property, empty if all hold.
	violation string
	// complete reports that the whole state space was searched.
	complete bool
	// unreached are the model steps that no execution takes.
	unreached []string
}

var (
	statesOf    = regexp.MustCompile(`(?m)^ *(\d+) states, stored`)
	depthOf     = regexp.MustCompile(`depth reached (\d+), errors: (\d+)`)
	violationOf = regexp.MustCompile(`(?m)^pan:\d+: (.*?)\s+\(at depth`)
	stepOf      = regexp.MustCompile(`-\(tr +(\d+)\)-> .*?\.pml:(\d+) => (.*)`) // listed by pan -d
	takenOf     = regexp.MustCompile(`(?m)^ *\d+\ttrans +(\d+) `)
)

// truncated are the verifier messages about an incomplete search.
var truncated = []string{
	"Search not completed", "max search depth too small", "out of memory", "memory limit", "MEMLIM", "Interrupted",
	"hash array", "Bit statespace",
}

// unlessSabotaged marks the model lines that only a sabotage can reach. In Spin's
// listing, all conditions of an if have the line of the first option.
const unlessSabotaged = "only without a protection"

// read parses the output of a verifier for a model with these lines.
func read(output string, lines []string) result {
	r := result{states: first(statesOf, output), depth: first(depthOf, output), violation: first(violationOf, output)}
	r.violation = strings.Join(strings.Fields(r.violation), " ")
	ended := depthOf.FindStringSubmatch(output)
	r.complete = len(ended) > 0 && ended[2] == "0" && strings.Contains(output, "Full statespace search") &&
		!slices.ContainsFunc(truncated, func(sign string) bool { return strings.Contains(output, sign) })
	seen := map[string]bool{}
	for _, match := range takenOf.FindAllStringSubmatch(output, -1) {
		seen[match[1]] = true
	}
	listed, _, _ := strings.Cut(output, "\nclaim ") // the processes are listed before the claim
	steps := stepOf.FindAllStringSubmatch(listed, -1)
	r.complete = r.complete && len(steps) > 0
	for _, match := range steps {
		var number int
		_, _ = fmt.Sscan(match[2], &number) // digits
		marked := number <= len(lines) && strings.Contains(lines[number-1], unlessSabotaged)
		if match[3] != "-end-" && !marked && !seen[match[1]] {
			r.unreached = append(r.unreached, match[2]+": "+match[3])
		}
		seen[match[1]] = true // a step is listed once for each place before it
	}
	return r
}

func first(pattern *regexp.Regexp, text string) string {
	if match := pattern.FindStringSubmatch(text); match != nil {
		return match[1]
	}
	return ""
}

// judge returns the reason why a check has failed, or nil.
func (c check) judge(r result) error {
	switch {
	case !c.sound && r.violation == "":
		return errors.New("nothing was found: the sabotage is not missed")
	case !c.sound:
		return nil
	case r.violation != "":
		return errors.New(r.violation)
	case !r.complete:
		return errors.New("the search is not complete")
	case c.covers && len(r.unreached) > 0:
		return fmt.Errorf("no execution takes the step in line %s", strings.Join(r.unreached, ", line "))
	}
	return nil
}
