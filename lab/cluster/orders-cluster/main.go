// Command orders-cluster runs the order and payment service on a local cluster: three
// replicas, with Patroni, pgbouncer and NATS behind them and HAProxy in front. It prints
// commands to try, and removes everything when Ctrl-C stops it. `make -C lab cluster` builds it
// and installs the rest. It is for experiments with dying nodes and not meant for
// production.
package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"text/template"
	"time"

	devissuer "example.com/orders/internal/dev/issuer"
	"example.com/orders/internal/dev/loopback"
	"example.com/orders/lab/cluster"
)

func main() {
	cfg := cluster.Config{Notices: os.Stdout}
	flag.StringVar(&cfg.Orders, "orders", "bin/orders", "binary of the service")
	flag.StringVar(&cfg.Nats, "nats", "bin/nats-server", "binary of the NATS server")
	flag.Func("commit", "strict (default): COMMIT waits for a standby, also where there is none; "+
		"available: it does not wait where there is none; alone: it never waits", func(waits string) error {
		cfg.Available, cfg.Asynchronous = waits == "available", waits == "alone"
		if !cfg.Available && !cfg.Asynchronous && waits != "strict" {
			return errors.New("it must be strict, available or alone")
		}
		return nil
	})
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := serve(ctx, cfg, os.Stdout)
	stop()
	if err != nil && !errors.Is(err, context.Canceled) { // not Ctrl-C during the start
		fmt.Fprintln(os.Stderr, "orders-cluster:", err)
		os.Exit(1)
	}
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

// tokenTTL is the printed tokens' lifetime.
const tokenTTL = 24 * time.Hour

//go:embed session.txt
var sessionText string

var session = template.Must(template.New("session").Parse(sessionText))

// operate prints instructions, and serves the cluster state and faults until ctx
// ends.
func operate(ctx context.Context, c *cluster.Cluster, issuer *devissuer.Issuer, out io.Writer) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	token, err := issuer.Token("billing", []string{"system"}, tokenTTL)
	if err != nil {
		return err
	}
	if err := c.Describe(ctx, out); err != nil {
		return err
	}
	err = session.Execute(out, map[string]string{
		"URL": c.URL(), "State": "http://" + listener.Addr().String(), "Database": c.DatabaseURL(),
		"Broker": c.BrokerURL(), "Token": token,
	})
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler(c), ReadHeaderTimeout: 5 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })() // no client waits any more
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// faults are begun by a PUT to a node and ended by a DELETE.
var faults = map[string]struct{ begin, end func(*cluster.Node) error }{
	"kill": {func(n *cluster.Node) error { n.Kill(); return nil }, (*cluster.Node).Start},
	"stop": {func(n *cluster.Node) error { n.Pause(); return nil }, func(n *cluster.Node) error { n.Resume(); return nil }},
	"cut":  {(*cluster.Node).Isolate, (*cluster.Node).Heal},
}

// handler serves the state and the faults, to this machine only.
func handler(c *cluster.Cluster) http.Handler {
	var mu sync.Mutex // one change at a time
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		var text bytes.Buffer
		if err := c.Describe(r.Context(), &text); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = text.WriteTo(w)
	})
	change := func(w http.ResponseWriter, r *http.Request) {
		n, fault := c.Node(r.PathValue("node")), faults[r.PathValue("fault")]
		if n == nil || fault.begin == nil {
			http.Error(w, "there is no such node, or the fault is none of kill, stop and cut", http.StatusNotFound)
			return
		}
		act := fault.begin
		if r.Method == http.MethodDelete {
			act = fault.end
		}
		mu.Lock()
		defer mu.Unlock()
		if err := act(n); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = fmt.Fprintf(w, "%s %s %s\n", r.Method, r.PathValue("fault"), n.Name())
	}
	mux.HandleFunc("PUT /nodes/{node}/{fault}", change)
	mux.HandleFunc("DELETE /nodes/{node}/{fault}", change)
	return loopback.Only(mux)
}
