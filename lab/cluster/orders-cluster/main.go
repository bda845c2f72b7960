// Command orders-cluster runs the order and payment service on a local cluster: three
// replicas, with Patroni, pgbouncer and NATS behind them and HAProxy in front. It is
// for experiments with dying nodes and not meant for production.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"slices"
	"syscall"

	devissuer "example.com/orders/internal/dev/issuer"
	"example.com/orders/lab/cluster"
)

const help = `orders-cluster runs three replicas of the order and payment service on a cluster of this
machine, and prints commands to try. Ctrl-C stops it, and nothing is kept.

  --orders FILE   the binary of the service (default bin/orders)
  --nats FILE     the binary of the NATS server (default bin/nats-server)
  --commit WAITS  strict: COMMIT waits for a standby, also where there is none (default);
                  available: it does not wait where there is none; alone: it never waits

make -C lab cluster builds both and installs what else is needed.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "orders-cluster:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("orders-cluster", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // Parse would also print the error
	orders := flags.String("orders", "bin/orders", "")
	nats := flags.String("nats", "bin/nats-server", "")
	commit := flags.String("commit", "strict", "")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		_, err = io.WriteString(out, help)
		return err
	} else if err != nil {
		return fmt.Errorf("%w: orders-cluster --help lists the flags", err)
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: orders-cluster --help lists the flags", flags.Arg(0))
	}
	if !slices.Contains([]string{"strict", "available", "alone"}, *commit) {
		return fmt.Errorf("--commit is %q: it must be strict, available or alone", *commit)
	}
	err := serve(ctx, cluster.Config{
		Orders: *orders, Nats: *nats, Available: *commit == "available", Asynchronous: *commit == "alone", Notices: out,
	}, out)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // Ctrl-C during the start
	}
	return err
}

// serve runs the cluster until ctx ends.
func serve(ctx context.Context, cfg cluster.Config, out io.Writer) (err error) {
	issuer, err := devissuer.New(devissuer.Config{Algorithm: "ES256"})
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	serving := make(chan error, 1)
	go func() { serving <- issuer.Serve(ctx, listener) }()
	cfg.Settings = []string{
		"ORDERS_JWT_ISSUER=" + devissuer.Name,
		"ORDERS_JWT_AUDIENCE=" + devissuer.Audience,
		"ORDERS_JWKS_URL=http://" + listener.Addr().String() + devissuer.JWKSPath,
	}
	c, err := cluster.Start(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	if err := operate(ctx, c, issuer, out); err != nil {
		return err
	}
	return <-serving
}
