package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"example.com/orders/internal/idempotency/routetest/probe"
)

func listProbes(_ context.Context, _ []string, out, _ io.Writer) (int, error) {
	for _, p := range probe.Probes {
		say(out, "%s  L%d  %s\n", p.Name, p.Level, p.Title)
	}
	return kept, nil
}

func explain(_ context.Context, args []string, out, _ io.Writer) (int, error) {
	flags := flag.NewFlagSet("explain", flag.ContinueOnError)
	only := flags.String("profile", "", "")
	names, err := parseArgs(flags, args)
	if err != nil {
		return unusable, err
	}
	chosen, err := selected(names, "L5")
	if err != nil {
		return unusable, err
	}
	shown := profileNames()
	if *only != "" {
		if !slices.Contains(shown, *only) {
			return unusable, fmt.Errorf("no profile is called %s; here may stand: %s", *only, strings.Join(shown, ", "))
		}
		shown = []string{*only}
	}
	for _, p := range chosen {
		say(out, "%s (L%d): %s\n%s\n", p.Name, p.Level, p.Title, p.Sends)
		for _, name := range shown {
			explainIn(out, p, profiles[name])
		}
		say(out, "\n")
	}
	return kept, nil
}

// explainIn prints the rules of a profile that a probe judges by.
func explainIn(out io.Writer, p probe.Probe, profile probe.Profile) {
	say(out, "\n  %s: %s\n", profile.Name, profile.Title)
	for _, name := range p.Rules {
		rule, stated := profile.Rules[name]
		if !stated {
			continue
		}
		say(out, "    %s: %s\n      %s (%s)\n", name, strings.Join(rule.Want, ", or "), rule.Says, rule.Where)
	}
}
