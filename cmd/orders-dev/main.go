// Command orders-dev runs the order and payment service on a developer machine with
// the servers around it: PostgreSQL, a broker, a token issuer, a double of the card
// provider and a receiver of webhooks. It is not meant for production.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"example.com/orders/cmd/orders/app"
	"example.com/orders/internal/observe/version"
)

const help = `orders-dev runs the order and payment service together with the servers around it
(PostgreSQL, a broker, a token issuer, a double of the card provider and a receiver of
webhooks) and prints commands to try.

  orders-dev [--dir DIR]                     start everything; Ctrl-C stops it
  orders-dev token --sub ID --role ROLE      print a token that the running service accepts
             [--ttl 24h] [--dir DIR]
  orders-dev version                         print the version
  orders-dev token --help                    describe this command

DIR keeps the data between runs; the default is .orders. ORDERS_… variables configure the
service as docs/operate.md describes.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), app.StopSignals()...)
	err := run(ctx, os.Args[1:], os.Environ(), os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "orders-dev:", err)
		os.Exit(1)
	}
}

// run executes one command. All input is an argument, so that tests can call it.
func run(ctx context.Context, args, environ []string, out io.Writer) error {
	err := execute(ctx, args, environ, out)
	if errors.Is(err, flag.ErrHelp) {
		_, err = io.WriteString(out, help)
	}
	return err
}

func execute(ctx context.Context, args, environ []string, out io.Writer) error {
	if len(args) == 0 {
		return dev(ctx, nil, environ, out)
	}
	switch args[0] {
	case "token":
		return token(args[1:], out)
	case "replica": // the playground starts this program so
		return replica(ctx, args[1:], environ, out)
	case "version":
		return printVersion(args[1:], out)
	case "help":
		return flag.ErrHelp
	}
	return dev(ctx, args, environ, out)
}

func printVersion(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("orders-dev version", flag.ContinueOnError)
	if err := parse(flags, args, "usage: orders-dev version"); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, "orders-dev", version.Get())
	return err
}

// parse parses flags and rejects other arguments. An error ends with the usage, in one
// line.
func parse(flags *flag.FlagSet, args []string, usage string) error {
	flags.SetOutput(io.Discard) // Parse would also print the error
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return err
	} else if err != nil {
		return fmt.Errorf("%w: %s", err, usage)
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: %s", flags.Arg(0), usage)
	}
	return nil
}
