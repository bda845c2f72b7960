package app

import (
	"net"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/rs/zerolog"

	"example.com/orders/internal/config"
	devissuer "example.com/orders/internal/dev/issuer"
	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// network leads to a database. When it is cut, its connections stay open and nothing
// arrives through them any more.
type network struct {
	listener net.Listener
	server   *pgconn.Config
	cuts     atomic.Int64 // connections belong to the cut before them
	isCut    atomic.Bool
	all      sync.WaitGroup
}

// newNetwork returns a network and the URL of a database behind it.
func newNetwork(t *testing.T, databaseURL string) (*network, string) {
	t.Helper()
	server, err := pgconn.ParseConfig(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &network{listener: listener, server: server}
	n.all.Go(n.accept)
	t.Cleanup(n.all.Wait)
	t.Cleanup(func() { _ = listener.Close() })
	u := url.URL{Scheme: "postgres", User: url.User(server.User), Host: listener.Addr().String(), Path: server.Database, RawQuery: "sslmode=disable"}
	return n, u.String()
}

func (n *network) accept() {
	for {
		client, err := n.listener.Accept()
		if err != nil {
			return // closed
		}
		n.all.Go(func() { n.serve(client) })
	}
}

// serve returns when the client has closed its connection.
func (n *network) serve(client net.Conn) {
	defer func() { _ = client.Close() }()
	kind, address := pgconn.NetworkAddress(n.server.Host, n.server.Port)
	server, err := net.Dial(kind, address)
	if err != nil {
		return
	}
	cuts, isCut := n.cuts.Load(), n.isCut.Load()
	forward := func(to, from net.Conn) {
		for buffer := make([]byte, 64<<10); ; {
			size, err := from.Read(buffer)
			if err != nil {
				return
			}
			if !isCut && cuts == n.cuts.Load() {
				_, _ = to.Write(buffer[:size]) // an error is one of the next read, too
			}
		}
	}
	n.all.Go(func() { forward(client, server) })
	forward(server, client)
	_ = server.Close()
}

// cut cuts all connections, and those that are opened before heal is called. Healing
// changes nothing for them, as when another server has the address.
func (n *network) cut()  { n.isCut.Store(true); n.cuts.Add(1) }
func (n *network) heal() { n.isCut.Store(false) }

func TestReadiness_ReturnsSoonAfterTheDatabaseWasCutOff(t *testing.T) {
	t.Parallel()
	issuer, err := devissuer.New(devissuer.Config{Algorithm: "ES256"})
	if err != nil {
		t.Fatal(err)
	}
	keys := httptest.NewServer(issuer.Handler())
	defer keys.Close()
	n, databaseURL := newNetwork(t, pgtest.AsService(t, pgtest.New(t)))
	cfg, err := config.Read([]string{
		"ORDERS_DATABASE_URL=" + databaseURL, "ORDERS_JWT_ISSUER=" + devissuer.Name, "ORDERS_JWT_AUDIENCE=" + devissuer.Audience,
		"ORDERS_JWKS_URL=" + keys.URL + devissuer.JWKSPath,
	})
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(t.Context(), cfg, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := a.ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	n.cut()
	for range 2 {
		a.readiness.until = a.readiness.now() // the result is too old
		if err := a.ready(t.Context()); err == nil {
			t.Fatal("the process is ready without a database")
		}
	}
	n.heal()
	const tries = 3 // the driver does not close the connection that was cut within six seconds
	for range tries {
		a.readiness.until = a.readiness.now()
		if err = a.ready(t.Context()); err == nil {
			return
		}
	}
	t.Errorf("the process is not ready after %d checks: %v", tries, err)
}
