// Package broker runs a NATS server with JetStream inside the process, for development
// and tests. It is not meant for production.
package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Config describes a broker.
type Config struct {
	// DataDir is where the streams are stored. The first start creates it, later ones
	// continue with it. Empty means a temporary directory, which Stop removes.
	DataDir string
	// Port is the port on 127.0.0.1. If it is 0, the first start chooses one, and
	// Restart keeps it.
	Port int
	// Cluster makes this server one of several; nil for one alone.
	Cluster *Cluster
	// Log receives the broker warnings and errors. May be nil.
	Log io.Writer
}

// Cluster describes the place of a server in a cluster of servers.
type Cluster struct {
	// Server is the position of this server in Ports, which are the ports on 127.0.0.1
	// that the servers use among themselves.
	Server int
	Ports  []int
}

// Broker is a NATS server with JetStream. It asks for no password and listens on
// loopback only. One goroutine at a time may use it.
type Broker struct {
	cfg       Config
	temporary bool
	server    *server.Server
}

// Start starts a broker and returns when it accepts connections. ctx bounds the start
// only.
func Start(ctx context.Context, cfg Config) (*Broker, error) {
	b := &Broker{cfg: cfg, temporary: cfg.DataDir == ""}
	b.cfg.Log = cmp.Or(cfg.Log, io.Discard)
	if b.temporary {
		dir, err := os.MkdirTemp("", "orders-broker-")
		if err != nil {
			return nil, fmt.Errorf("start the broker: %w", err)
		}
		b.cfg.DataDir = dir
	}
	if err := b.start(ctx); err != nil {
		return nil, errors.Join(err, b.Stop())
	}
	return b, nil
}

func (b *Broker) start(ctx context.Context) error {
	options := &server.Options{
		ServerName: "orders-dev",
		Host:       "127.0.0.1",
		Port:       cmp.Or(b.cfg.Port, server.RANDOM_PORT),
		JetStream:  true,
		StoreDir:   b.cfg.DataDir,
		NoSigs:     true, // the process handles signals itself
	}
	if b.cfg.Cluster != nil {
		b.cfg.Cluster.join(options)
	}
	started, err := server.NewServer(options)
	if err != nil {
		return fmt.Errorf("start the broker: %w", err)
	}
	log := &serverLog{out: b.cfg.Log, fatal: make(chan error, 1)}
	started.SetLoggerV2(log, false, false, false)
	b.server = started
	started.Start()
	for !started.ReadyForConnections(50 * time.Millisecond) {
		select {
		case err := <-log.fatal:
			return fmt.Errorf("start the broker: %w", err)
		case <-ctx.Done():
			return fmt.Errorf("start the broker: %w", ctx.Err())
		default:
		}
	}
	if addr, ok := started.Addr().(*net.TCPAddr); ok {
		b.cfg.Port = addr.Port
	}
	return nil
}

// Name returns the name of the server in its cluster.
func (c *Cluster) Name() string { return fmt.Sprint("orders-dev-", c.Server) }

func (c *Cluster) join(options *server.Options) {
	options.ServerName = c.Name()
	options.Cluster = server.ClusterOpts{Name: "orders-dev", Host: "127.0.0.1", Port: c.Ports[c.Server]}
	for i, port := range c.Ports {
		if i != c.Server {
			options.Routes = append(options.Routes, &url.URL{Scheme: "nats", Host: fmt.Sprint("127.0.0.1:", port)})
		}
	}
}

// URL returns the URL for clients. Restart does not change it.
func (b *Broker) URL() string { return fmt.Sprintf("nats://127.0.0.1:%d", b.cfg.Port) }

// Halt ends the broker and keeps the streams.
func (b *Broker) Halt() {
	if b.server != nil {
		b.server.Shutdown()
		b.server.WaitForShutdown()
	}
}

// Restart starts the broker on the same streams and with the same URL. If it is still
// running, it is halted first.
func (b *Broker) Restart(ctx context.Context) error {
	b.Halt()
	return b.start(ctx)
}

// Stop ends the broker and removes a temporary directory.
func (b *Broker) Stop() error {
	b.Halt()
	if !b.temporary {
		return nil
	}
	if err := os.RemoveAll(b.cfg.DataDir); err != nil {
		return fmt.Errorf("stop the broker: %w", err)
	}
	return nil
}

// serverLog writes warnings and errors to out, and remembers why a start failed.
type serverLog struct {
	out   io.Writer
	fatal chan error
}

// Warnf writes a warning.
func (l *serverLog) Warnf(format string, args ...any) { l.write(format, args) }

// Errorf writes an error.
func (l *serverLog) Errorf(format string, args ...any) { l.write(format, args) }

// Fatalf writes and remembers an error. It does not end the process: Start returns the
// error.
func (l *serverLog) Fatalf(format string, args ...any) {
	l.write(format, args)
	select {
	case l.fatal <- fmt.Errorf(format, args...):
	default:
	}
}

// Noticef discards the line.
func (*serverLog) Noticef(string, ...any) {}

// Debugf discards the line.
func (*serverLog) Debugf(string, ...any) {}

// Tracef discards the line.
func (*serverLog) Tracef(string, ...any) {}

func (l *serverLog) write(format string, args []any) {
	_, _ = fmt.Fprintf(l.out, "broker: "+format+"\n", args...) // a broken log must not stop the broker
}
