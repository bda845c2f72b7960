package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Config says where a broker keeps its streams.
type Config struct {
	// DataDir is created by the first start; later starts continue on it. Empty means a temporary directory that
	// Stop removes.
	DataDir string
	// Port on 127.0.0.1. 0 lets the first start choose one, and Restart keep it.
	Port int
	// Log receives what the broker warns of. May be nil.
	Log io.Writer
}

// Broker is a NATS server with JetStream inside this process. It asks for no password and listens on loopback only. One
// goroutine at a time may use it.
type Broker struct {
	cfg       Config
	temporary bool
	server    *server.Server
}

// Start starts a broker and returns when it accepts connections. ctx bounds the start only.
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
	started, err := server.NewServer(&server.Options{
		ServerName: "orders-dev",
		Host:       "127.0.0.1",
		Port:       cmp.Or(b.cfg.Port, server.RANDOM_PORT),
		JetStream:  true,
		StoreDir:   b.cfg.DataDir,
		NoSigs:     true, // signals are for the process around it
	})
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

// URL is where clients connect. It stays the same over Restart.
func (b *Broker) URL() string { return fmt.Sprintf("nats://127.0.0.1:%d", b.cfg.Port) }

// Halt ends the broker and keeps what it stored.
func (b *Broker) Halt() {
	if b.server != nil {
		b.server.Shutdown()
		b.server.WaitForShutdown()
	}
}

// Restart starts a broker that was halted, or one that runs, on the same data and URL.
func (b *Broker) Restart(ctx context.Context) error {
	b.Halt()
	return b.start(ctx)
}

// Stop ends the broker and removes what was temporary.
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

// serverLog passes on what needs attention, and keeps why a start failed.
type serverLog struct {
	out   io.Writer
	fatal chan error
}

// Warnf, Errorf and Fatalf are passed on.
func (l *serverLog) Warnf(format string, args ...any) { l.write(format, args) }

// Errorf is passed on.
func (l *serverLog) Errorf(format string, args ...any) { l.write(format, args) }

// Fatalf is passed on and kept. The process goes on: a broker that cannot start is for the caller to judge.
func (l *serverLog) Fatalf(format string, args ...any) {
	l.write(format, args)
	select {
	case l.fatal <- fmt.Errorf(format, args...):
	default:
	}
}

// Noticef, Debugf and Tracef are dropped.
func (*serverLog) Noticef(string, ...any) {}

// Debugf is dropped.
func (*serverLog) Debugf(string, ...any) {}

// Tracef is dropped.
func (*serverLog) Tracef(string, ...any) {}

func (l *serverLog) write(format string, args []any) {
	_, _ = fmt.Fprintf(l.out, "broker: "+format+"\n", args...) // a log that cannot be written stops nobody
}
