package nats_test

import (
	"bufio"
	"cmp"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"

	"example.com/orders/internal/adapters/out/nats"
	testcert "example.com/orders/internal/test/cert"
	testlog "example.com/orders/internal/test/log"
	testport "example.com/orders/internal/test/port"
	testwait "example.com/orders/internal/test/wait"
)

// startOn starts a broker that accepts the user orders with one password.
func startOn(t *testing.T, port int, password string) (host string, stop func()) {
	t.Helper()
	broker, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: port, Username: "orders", Password: password, NoSigs: true, NoLog: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	broker.Start()
	t.Cleanup(broker.Shutdown)
	if !broker.ReadyForConnections(testwait.Patience) {
		t.Fatal("the broker does not start")
	}
	u, err := url.Parse(broker.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	return u.Host, func() { broker.Shutdown(); broker.WaitForShutdown() }
}

// An anonymous client reaches no broker that asks for credentials (AUTH-14).
func TestConnect_AuthenticatesAtTheBroker(t *testing.T) {
	t.Parallel()
	host, _ := startOn(t, server.RANDOM_PORT, "word")
	for credentials, want := range map[string]bool{"orders:word@": true, "orders:wrong@": false, "": false} {
		conn, err := nats.Connect(nats.Service, "nats://"+credentials+host, "", zerolog.Nop())
		if err != nil {
			t.Errorf("%q: %v", credentials, err)
			continue
		}
		if got := conn.IsConnected(); got != want {
			t.Errorf("%q: connected = %v, want %v", credentials, got, want)
		}
		conn.Close()
	}
}

func TestConnect_KeepsCredentialsOutOfErrorsAndLogs(t *testing.T) {
	t.Parallel()
	for _, brokerURL := range []string{
		"nats://orders:hunter2@127.0.0.1:notaport",
		"nats://orders:hunter2@[::1",
		"nats://orders:hunter2@%zz:4222",
		"nats://orders:hunter2#x@broker",
		"nats://orders:hunter2%zz@broker",
		"nats://hunter2:@broker:port",
		"nats://orders:hunter2@127.0.0.1:1,nats://orders:hunter2@127.0.0.1:2",
		"nats://orders:hunter2@127.0.0.1:1,nats://orders:hunter2@other:%zz",
		"nats://orders:hunter2@127.0.0.1:1,ws://orders:hunter2@other",
		"hunter2://orders:hunter2@\x7f",
	} {
		var log testlog.Buffer
		conn, err := nats.Connect(nats.Service, brokerURL, "", zerolog.New(&log))
		if err == nil {
			publisher, newErr := nats.NewPublisher(conn)
			if newErr != nil {
				t.Fatal(newErr)
			}
			_, err = publisher.Publish(t.Context(), nil)
			conn.Close()
		}
		if err == nil {
			t.Errorf("%q works", brokerURL)
		} else if written := err.Error() + log.String(); strings.Contains(written, "hunter2") {
			t.Errorf("%q: the secret was written: %s", brokerURL, written)
		}
	}
}

func TestConnect_ReconnectsAfterItsPasswordWasRefused(t *testing.T) {
	t.Parallel()
	const password = "hunter2"
	port, log := testport.Free(t), &testlog.Buffer{}
	host, stop := startOn(t, port, password)
	conn, err := nats.Connect(nats.Service, "nats://orders:"+password+"@"+host, "", zerolog.New(log))
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
	startOn(t, port, password)
	testwait.Until(t, "connected again, or closed for ever", func() bool { return conn.IsConnected() || conn.IsClosed() })

	if conn.IsClosed() {
		t.Error("the connection is closed for ever")
	}
	if text := log.String(); strings.Contains(text, password) || !strings.Contains(text, "broker disconnected") {
		t.Errorf("the log is %s", text)
	}
}

// serveOnce accepts one connection, sends info, answers what a client sends to connect, and
// nothing later. When the client has closed the connection, it returns its CONNECT.
func serveOnce(t *testing.T, info string) (brokerURL string, sent <-chan string) {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	connect := make(chan string, 1)
	go func() {
		text := ""
		defer func() { connect <- text }()
		conn, err := ln.Accept()
		if err != nil {
			return // the test has ended
		}
		defer func() { _ = conn.Close() }()
		_, _ = fmt.Fprintf(conn, "INFO %s\r\n", info)
		answered := false
		for lines := bufio.NewScanner(conn); lines.Scan(); {
			if strings.HasPrefix(lines.Text(), "CONNECT ") {
				text = lines.Text()
			}
			if lines.Text() == "PING" && !answered {
				_, _ = fmt.Fprint(conn, "PONG\r\n")
				answered = true
			}
		}
	}()
	return "nats://" + ln.Addr().String(), connect
}

// A server that hangs, or that the network has cut off, does not close its connections.
func TestConnect_GivesUpAServerThatIsSilent(t *testing.T) {
	t.Parallel()
	silent, gone := serveOnce(t, "{}")
	conn, err := nats.Connect(nats.Service, silent, "", zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if !conn.IsConnected() {
		t.Fatal("not connected")
	}
	select {
	case <-gone:
	case <-time.After(testwait.Patience):
		t.Error("the connection is not given up")
	}
}

func TestConnect_GoesToConfiguredServersOnly(t *testing.T) {
	t.Parallel()
	brokerURL, _ := serveOnce(t, `{"connect_urls": ["192.0.2.1:4222"]}`)
	conn, err := nats.Connect(nats.Service, brokerURL, "", zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if servers := conn.Servers(); !conn.IsConnected() || len(servers) != 1 || servers[0] != brokerURL {
		t.Errorf("connected = %v, servers %v, want %s only", conn.IsConnected(), servers, brokerURL)
	}
}

// A user of the documentation of NATS: its seed, and the public half.
const (
	seed = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY"
	user = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"
)

// startWith starts a broker on loopback with these options.
func startWith(t *testing.T, options *server.Options) (brokerURL string) {
	t.Helper()
	options.Port = cmp.Or(options.Port, server.RANDOM_PORT)
	options.Host, options.NoSigs, options.NoLog = "127.0.0.1", true, true
	broker, err := server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	broker.Start()
	t.Cleanup(broker.Shutdown)
	if !broker.ReadyForConnections(testwait.Patience) {
		t.Fatal("the broker does not start")
	}
	return broker.ClientURL()
}

// startTLS starts a broker with a certificate of an authority that no system trusts.
func startTLS(t *testing.T, authority *testcert.Authority) (brokerURL string) {
	t.Helper()
	return strings.Replace(startWith(t, &server.Options{TLS: true, TLSConfig: &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{authority.Server(t).TLS(t)},
	}}), "nats://", "tls://", 1)
}

// write writes a file and returns its path.
func write(t *testing.T, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestConnect_IdentifiesItselfByAnNkey(t *testing.T) {
	t.Parallel()
	brokerURL := startWith(t, &server.Options{Nkeys: []*server.NkeyUser{{Nkey: user}}})
	conn, err := nats.Connect(nats.Service, brokerURL, write(t, seed+"\n"), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if !conn.IsConnected() {
		t.Error("not connected")
	}
}

// A broker with accounts gets the JWT of a .creds file, and its nonce signed.
func TestConnect_SendsTheTokenOfACredsFile(t *testing.T) {
	t.Parallel()
	brokerURL, sent := serveOnce(t, `{"nonce": "n1", "auth_required": true}`)
	creds := write(t, "-----BEGIN NATS USER JWT-----\neyJ0.eyJq.c2ln\n------END NATS USER JWT------\n\n"+
		"-----BEGIN USER NKEY SEED-----\n"+seed+"\n------END USER NKEY SEED------\n")
	conn, err := nats.Connect(nats.Service, brokerURL, creds, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if line := <-sent; !strings.Contains(line, `"jwt":"eyJ0.eyJq.c2ln"`) || !strings.Contains(line, `"sig":"`) || strings.Contains(line, seed) {
		t.Errorf("it sends %s", line)
	}
}

func TestConnect_RefusesUnusableFiles(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"/nowhere", write(t, "hunter2")} {
		conn, err := nats.Connect(nats.Service, "nats://127.0.0.1:1", file, zerolog.Nop())
		if err == nil {
			conn.Close()
			t.Errorf("%s is accepted", file)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestConnect_LogsWhyItFails(t *testing.T) {
	t.Parallel()
	host, _ := startOn(t, server.RANDOM_PORT, "word")
	for want, brokerURL := range map[string]string{
		"connection refused":                      "nats://127.0.0.1:1",
		"authorization violation":                 "nats://orders:wrong@" + host,
		"certificate signed by unknown authority": startTLS(t, testcert.NewAuthority(t)),
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			var log testlog.Buffer
			conn, err := nats.Connect(nats.Service, brokerURL, "", zerolog.New(&log))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(conn.Close)
			publisher, err := nats.NewPublisher(conn)
			if err != nil {
				t.Fatal(err)
			}
			testwait.Until(t, "log and publisher say: "+want, func() bool {
				_, err := publisher.Publish(t.Context(), nil)
				if err == nil || !strings.HasPrefix(err.Error(), "no connection to the broker") {
					t.Errorf("the publisher fails with %v", err)
				}
				return strings.Contains(log.String(), "broker connection failed") && strings.Contains(strings.ToLower(log.String()), want)
			})
		})
	}
}

// The library logs nothing when a broker comes back with a certificate that is not trusted.
func TestPublish_NamesWhyTheConnectionIsNotRenewed(t *testing.T) {
	t.Parallel()
	port, authority := testport.Free(t), testcert.NewAuthority(t)
	_, stop := startOn(t, port, "word")
	conn, err := nats.Connect(nats.Service, fmt.Sprint("nats://orders:word@127.0.0.1:", port), "", zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	publisher, err := nats.NewPublisher(conn)
	if err != nil {
		t.Fatal(err)
	}
	stop()

	startWith(t, &server.Options{Port: port, TLS: true, TLSConfig: &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{authority.Server(t).TLS(t)},
	}})

	testwait.Until(t, "the publisher names the certificate", func() bool {
		_, err := publisher.Publish(t.Context(), nil)
		return err != nil && strings.Contains(err.Error(), "no connection to the broker: ") && strings.Contains(err.Error(), "x509")
	})
}
