// Command orders is the order and payment service. README.md says how to run it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

const usage = `orders is an order and payment service where every command that moves money or
reserves stock takes effect exactly once (AUTH-19).

  orders dev                                  everything on this machine, and what to try
  orders serve                                the service; configured by ORDERS_… variables
  orders migrate up|down|version              the schema of ORDERS_DATABASE_URL
  orders token --sub ID --role ROLE           a token that ` + "`orders dev`" + ` accepts
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

// run is the whole program: a subcommand, with all that it takes from the outside.
func run(ctx context.Context, args, environ []string, out io.Writer) error {
	if len(args) == 0 {
		return errors.New("no command given; orders help lists them")
	}
	switch args[0] {
	case "dev":
		return dev(ctx, args[1:], environ, out)
	case "serve":
		return serve(ctx, environ, out)
	case "migrate":
		return migrate(ctx, args[1:], environ, out)
	case "token":
		return token(args[1:], environ, out)
	case "help", "-h", "--help":
		_, err := io.WriteString(out, usage)
		return err
	}
	return fmt.Errorf("no command %q; orders help lists them", args[0])
}
