// Command orders is the order and payment service. docs/operate.md describes how to run
// it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"

	"example.com/orders/cmd/orders/app"
	"example.com/orders/internal/observe/logqueue"
)

const usage = `orders is an order and payment service in which every command that moves money, or
reserves or adjusts stock, takes effect exactly once (AUTH-19).

  orders serve                       run the service
  orders migrate up|down|version     change or print the schema version
  orders jobs                        list, show, retry or discard background jobs
  orders dead-letters                the same for messages that could not be processed
  orders webhooks                    list, retry or disable webhook endpoints
  orders reconcile                   verify now that money and stock agree with their rows
  orders config                      print the settings in force, without secrets
  orders health                      ask the running service whether it is ready
  orders version                     print the version
  orders COMMAND --help              describe a command

Variables ORDERS_… configure the service; docs/operate.md describes them. Exit status: 0
success, 1 failure, 2 if orders reconcile could not compare everything. To try the service
without any configuration, run orders-dev (or: make run).
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), app.StopSignals()...)
	problems := logqueue.New(os.Stderr, func(uint64) {})
	code := execute(ctx, os.Args[1:], os.Environ(), os.Stdout, problems)
	problems.Close(outputTimeout)
	stop()
	os.Exit(code)
}

// execute runs one command and returns the exit code.
func execute(ctx context.Context, args, environ []string, out, problems io.Writer) int {
	if err := run(ctx, args, environ, out); err != nil {
		_, _ = fmt.Fprintln(problems, "orders:", err) // the last resort
		if errors.Is(err, errNotCompared) {
			return 2
		}
		return 1
	}
	return 0
}

// command is a subcommand.
type command struct {
	name  string
	usage string
	// takesArguments reports whether run checks the arguments. All other commands refuse
	// arguments.
	takesArguments bool
	run            func(ctx context.Context, args, environ []string, out io.Writer) error
}

var commands = []command{
	{name: "serve", usage: serveUsage, run: serve},
	{name: "migrate", usage: migrateUsage, takesArguments: true, run: migrate},
	{name: "jobs", usage: jobsUsage, takesArguments: true, run: operateJobs},
	{name: "dead-letters", usage: deadLettersUsage, takesArguments: true, run: operateDeadLetters},
	{name: "webhooks", usage: webhooksUsage, takesArguments: true, run: operateWebhooks},
	{name: "reconcile", usage: reconcileUsage, run: reconcileNow},
	{name: "config", usage: configUsage, run: printConfig},
	{name: "health", usage: healthUsage, run: checkHealth},
	{name: "version", usage: versionUsage, run: printVersion},
}

// run executes one command. All input is an argument, so that tests can call it.
func run(ctx context.Context, args, environ []string, out io.Writer) error {
	if len(args) == 0 {
		return errors.New("no command given: orders help lists the commands")
	}
	name, args := args[0], args[1:]
	if name != "serve" { // serve has a queue for the log
		out = stoppable(ctx, out)
	}
	if isHelp(name) {
		return printUsage(out, usage)
	}
	i := slices.IndexFunc(commands, func(c command) bool { return c.name == name })
	if i < 0 {
		return fmt.Errorf("unknown command %s: orders help lists the commands", quoted(name))
	}
	c := commands[i]
	switch {
	case slices.ContainsFunc(args, isHelp):
		return printUsage(out, c.usage)
	case len(args) > 0 && !c.takesArguments:
		return fmt.Errorf("unexpected argument %s: orders %s takes none", quoted(args[0]), name)
	}
	return c.run(ctx, args, environ, out)
}

func isHelp(arg string) bool { return arg == "help" || arg == "-h" || arg == "--help" }

func printUsage(out io.Writer, usage string) error {
	_, err := io.WriteString(out, usage)
	return err
}

// quoted quotes an argument for an error message. It hides a misplaced database URL,
// because that contains a password.
func quoted(arg string) string {
	if strings.ContainsAny(arg, "@:= ") {
		return `"…"`
	}
	return strconv.Quote(arg)
}
