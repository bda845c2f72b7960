// Command orders-dev runs the order and payment service on a developer's machine, with
// everything it needs: PostgreSQL, a broker, a token issuer and a double of the card
// provider. Nothing in it is meant for production.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

const usage = `orders-dev runs the order and payment service with PostgreSQL, a broker, a token issuer
and a double of the card provider, and prints what to try.

  orders-dev [--dir DIR]                      start everything; Ctrl-C stops it
  orders-dev token --sub ID --role ROLE       print a token that the running service accepts
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Environ(), os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "orders-dev:", err)
		os.Exit(1)
	}
}

// run executes one subcommand with everything it takes from the outside. Without one it
// starts the service and its servers.
func run(ctx context.Context, args, environ []string, out io.Writer) error {
	if len(args) == 0 {
		return dev(ctx, nil, environ, out)
	}
	switch args[0] {
	case "token":
		return token(args[1:], out)
	case "help", "-h", "--help":
		_, err := io.WriteString(out, usage)
		return err
	}
	return dev(ctx, args, environ, out)
}
