// Command orders is the order and payment service. docs/running.md describes how to run
// it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

const usage = `orders is an order and payment service in which every command that moves money, or
reserves or adjusts stock, takes effect exactly once (AUTH-19).

  orders serve                       run the service
  orders migrate up|down|version     change or print the schema version

Variables ORDERS_… configure both; docs/running.md describes them. To try the service
without any configuration, run orders-dev (or: make run).
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Environ(), os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "orders:", err)
		os.Exit(1)
	}
}

// run executes one command. It takes everything from its arguments, so that tests can
// call it.
func run(ctx context.Context, args, environ []string, out io.Writer) error {
	if len(args) == 0 {
		return errors.New("no command given: orders help lists the commands")
	}
	switch args[0] {
	case "serve":
		return serve(ctx, args[1:], environ, out)
	case "migrate":
		return migrate(ctx, args[1:], environ, out)
	case "help", "-h", "--help":
		_, err := io.WriteString(out, usage)
		return err
	}
	return fmt.Errorf("unknown command %s: orders help lists the commands", quoted(args[0]))
}

// quoted returns an argument in quotes, for an error. It leaves out what can be a database
// URL in the wrong place: that contains a password.
func quoted(arg string) string {
	if strings.ContainsAny(arg, "@:= ") {
		return `"…"`
	}
	return strconv.Quote(arg)
}
