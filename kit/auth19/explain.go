package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"example.com/orders/kit/guard/routetest/probe"
)

func listProbes(_ context.Context, _ []string, c console) (int, error) {
	for _, p := range probe.Probes {
		say(c.out, "%s  L%d  %s\n", p.Name, p.Level, p.Title)
	}
	return kept, nil
}

func explain(_ context.Context, args []string, c console) (int, error) {
	flags := flag.NewFlagSet("explain", flag.ContinueOnError)
	only := flags.String("profile", "", "")
	names, err := parseArgs(flags, args)
	if err != nil {
		return unusable, err
	}
	for _, name := range names {
		if slices.Contains(profileNames(), name) {
			return unusable, fmt.Errorf("%s is a profile: auth19 explain --profile %[1]s", name)
		}
	}
	chosen, err := selected(names, "L5")
	if err != nil {
		return unusable, err
	}
	shown := profileNames()
	if *only != "" {
		if !slices.Contains(shown, *only) {
			return unusable, fmt.Errorf("no profile is called %s; allowed: %s", *only, strings.Join(shown, ", "))
		}
		shown = []string{*only}
	}
	for _, p := range chosen {
		say(c.out, "%s (L%d): %s\n%s\n", p.Name, p.Level, p.Title, p.Sends)
		for _, name := range shown {
			explainIn(c.out, p, profiles[name])
		}
		say(c.out, "\n")
	}
	say(c.out, "%s", legend)
	return kept, nil
}

const legend = `Outcomes:
  refused 409     an answer with this status, and no effect; 4xx is any of its class
  told to come back
                  202 for a request that succeeds with another status
  replayed        the status and the body of the first response; to another principal, also
                  a marked answer, or that of a retry
  marked          a replay carries the header of the profile
  ran, ran as new, ran again, separate, another key
                  the command had another effect, or its first one only now
  waited          the duplicate got the first response when it was there
  answered        a retry found the response that was lost
  remembered      after expiry, the first result and no effect
  hidden          neither the first response nor its request nor a token is shown
Each request has its connection, and its key is a UUID. Effects are read with the token of a;
the member "as" of effects changes it.
`

// explainIn prints the rules of a profile that a probe judges by.
func explainIn(out io.Writer, p probe.Probe, profile probe.Profile) {
	header, marker := profile.Header, ""
	if profile.Quoted {
		header += ", in quotes"
	}
	if profile.Marker[0] != "" {
		marker = "; a replay carries " + profile.Marker[0] + ": " + profile.Marker[1]
	}
	say(out, "\n  %s: %s (%s%s)\n", profile.Name, profile.Title, header, marker)
	for _, name := range p.Rules {
		rule, stated := profile.Rules[name]
		if !stated {
			continue
		}
		say(out, "    %s: %s\n      %s (%s)\n", name, rule.Wanted(), rule.Says, rule.Where)
	}
}
