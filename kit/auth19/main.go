// Auth19 says whether a server keeps the idempotency promise: it races, hangs up, kills,
// changes the request, and counts effects by reading them back.
package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"example.com/orders/kit/guard/routetest/probe"
)

const usage = `Does a server keep its idempotency promise?

  auth19 init --openapi FILE     write a description to begin with
  auth19 run FILE [PROBES…]      ask all questions, or some: auth19 run auth19.yaml B H
      --level L2                 up to this level
      --seed 7                   the same keys as in run 7
      --json F --junit F --markdown F
      --yes                      run the commands of the file without a question
  auth19 list                    the probes
  auth19 explain [PROBES…]       what a probe sends and expects, and which sentence asks for it
      --profile NAME             in this profile only

Exit status: 0 no failure, 1 a failure, 2 the run was not possible.
`

// The exit statuses.
const (
	kept = iota
	broken
	unusable
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], console{os.Stdin, isTerminal(os.Stdin), os.Stdout, os.Stderr})
	stop()
	os.Exit(status)
}

// run runs a command line and returns the exit status.
func run(ctx context.Context, args []string, c console) int {
	commands := map[string]func(context.Context, []string, console) (int, error){
		"run": runProbes, "init": initialize, "list": listProbes, "explain": explain,
	}
	if len(args) == 0 || commands[args[0]] == nil {
		say(c.err, "%s", usage)
		if len(args) > 0 && slices.Contains([]string{"help", "-h", "--help"}, args[0]) {
			return kept
		}
		return unusable
	}
	status, err := commands[args[0]](ctx, args[1:], c)
	if err != nil {
		say(c.err, "%s\n", err)
		return unusable
	}
	return status
}

// parseArgs parses flags that stand anywhere, and returns the rest.
func parseArgs(flags *flag.FlagSet, args []string) ([]string, error) {
	flags.SetOutput(io.Discard)
	var rest []string
	for {
		if err := flags.Parse(args); err != nil {
			return nil, fmt.Errorf("%w\n\n%s", err, usage)
		}
		if flags.NArg() == 0 {
			return rest, nil
		}
		rest, args = append(rest, flags.Arg(0)), flags.Args()[1:]
	}
}

func probeNames() []string {
	names := make([]string, len(probe.Probes))
	for i, p := range probe.Probes {
		names[i] = p.Name
	}
	return names
}

// selected returns the probes of the names, or all of them, up to a level.
func selected(names []string, level string) ([]probe.Probe, error) {
	highest := slices.Index([]string{"L1", "L2", "L3", "L4", "L5"}, strings.ToUpper(level)) + 1
	if highest == 0 {
		return nil, fmt.Errorf("--level %s: allowed: L1, L2, L3, L4, L5", level)
	}
	for i, name := range names {
		if names[i] = strings.ToUpper(name); !slices.Contains(probeNames(), names[i]) {
			return nil, fmt.Errorf("no probe is called %s; allowed: %s", name, strings.Join(probeNames(), ", "))
		}
	}
	var chosen []probe.Probe
	for _, p := range probe.Probes {
		if p.Level <= highest && (len(names) == 0 || slices.Contains(names, p.Name)) {
			chosen = append(chosen, p)
		}
	}
	return chosen, nil
}

func runProbes(ctx context.Context, args []string, c console) (int, error) {
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	level, seed, yes := flags.String("level", "L5", ""), flags.Uint64("seed", 0, ""), flags.Bool("yes", false, "")
	files := map[string]*string{"json": flags.String("json", "", ""), "junit": flags.String("junit", "", ""), "markdown": flags.String("markdown", "", "")}
	rest, err := parseArgs(flags, args)
	if err != nil {
		return unusable, err
	}
	if len(rest) == 0 {
		say(c.err, "%s\n", usage)
		return unusable, errors.New("run needs a file")
	}
	chosen, err := selected(rest[1:], *level)
	if err != nil {
		return unusable, err
	}
	f, err := parse(rest[0])
	if err == nil && !*yes {
		err = c.consent(ctx, f)
	}
	if err != nil {
		return unusable, err
	}
	if *seed == 0 {
		*seed = newSeed()
	}
	report, err := f.ask19(ctx, chosen, *seed, c)
	if err != nil {
		return unusable, err
	}
	return report.status(), report.save(files)
}

func newSeed() uint64 {
	var random [4]byte
	_, _ = rand.Read(random[:])
	return uint64(binary.BigEndian.Uint32(random[:]))
}

// ask19 asks the questions, and prints each answer when it is there.
func (f *file) ask19(ctx context.Context, chosen []probe.Probe, seed uint64, c console) (*report, error) {
	t, err := f.target(ctx, seed)
	if err != nil {
		return nil, err
	}
	if err := t.Check(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	say(c.out, "%s against %s, seed %d\n\n", f.Profile, strings.Join(f.Servers, " and "), seed)
	r := newReport(f, t)
	for _, p := range chosen {
		step(c.err, p.Name+"  "+p.Title)
		t.Progress = func(text string) { step(c.err, p.Name+"  "+p.Title+": "+text) }
		result := p.Ask(ctx, t)
		step(c.err, "")
		r.add(result)
		say(c.out, "%s\n", r.Results[len(r.Results)-1].row())
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	r.printEnd(c.out)
	return r, nil
}
