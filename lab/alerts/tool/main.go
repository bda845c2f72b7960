// Command tool parses PromQL and checks the dashboard against Grafana's schema, for the
// alert tests. It is a separate module because it needs large libraries.
//
//	tool selectors QUERIES   the selectors of a JSON array of queries, as JSON
//	tool dashboard FILE      fails if Grafana would not understand the dashboard
package main

import (
	"errors"
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "tool:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "selectors":
		return printSelectors(args[1])
	case len(args) == 2 && args[0] == "dashboard":
		return checkDashboard(args[1])
	}
	return errors.New("usage: tool selectors QUERIES | dashboard FILE")
}
