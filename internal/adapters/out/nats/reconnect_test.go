package nats_test

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"example.com/orders/internal/adapters/out/nats"
	testport "example.com/orders/internal/test/port"
	testwait "example.com/orders/internal/test/wait"
)

func TestConnect_ReconnectsAfterItsPasswordWasRefused(t *testing.T) {
	t.Parallel()
	port, log := testport.Free(t), &lockedBuffer{}
	host, stop := startOn(t, port, brokerPassword)
	conn, err := nats.Connect("nats://orders:"+brokerPassword+"@"+host, zerolog.New(log))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	testwait.Until(t, "connected", conn.IsConnected)
	stop()
	_, stop = startOn(t, port, "another")
	testwait.Until(t, "refused three times", func() bool {
		return strings.Count(log.String(), "authorization violation") >= 3 || conn.IsClosed()
	})
	stop()
	startOn(t, port, brokerPassword)
	testwait.Until(t, "connected again, or closed for ever", func() bool { return conn.IsConnected() || conn.IsClosed() })
	if conn.IsClosed() {
		t.Error("the connection is closed for ever")
	}
}

// serveOnce accepts one connection, sends info, answers what a client sends to connect, and
// nothing later. It closes gone when the client has closed the connection.
func serveOnce(t *testing.T, info string) (url string, gone <-chan struct{}) {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		conn, err := ln.Accept()
		if err != nil {
			return // the test has ended
		}
		defer func() { _ = conn.Close() }()
		_, _ = fmt.Fprintf(conn, "INFO %s\r\n", info)
		answered := false
		for lines := bufio.NewScanner(conn); lines.Scan(); {
			if lines.Text() == "PING" && !answered {
				_, _ = fmt.Fprint(conn, "PONG\r\n")
				answered = true
			}
		}
	}()
	return "nats://" + ln.Addr().String(), closed
}

// A server that hangs, or that the network has cut off, does not close its connections.
func TestConnect_GivesUpAServerThatIsSilent(t *testing.T) {
	t.Parallel()
	silent, gone := serveOnce(t, "{}")
	conn, err := nats.Connect(silent, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if !conn.IsConnected() {
		t.Fatal("not connected")
	}
	testwait.Until(t, "the connection is given up", func() bool {
		select {
		case <-gone:
			return true
		default:
			return false
		}
	})
}

func TestConnect_GoesToConfiguredServersOnly(t *testing.T) {
	t.Parallel()
	url, _ := serveOnce(t, `{"connect_urls": ["192.0.2.1:4222"]}`)
	conn, err := nats.Connect(url, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if servers := conn.Servers(); !conn.IsConnected() || len(servers) != 1 || servers[0] != url {
		t.Errorf("connected = %v, servers %v, want %s only", conn.IsConnected(), servers, url)
	}
}
