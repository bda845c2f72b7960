// Package pgproxy takes the place of a PostgreSQL server on loopback, and connects each of
// its clients to the server. What passes between the two is up to the caller.
package pgproxy

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// errURL has no details: they may contain the password.
var errURL = errors.New("the database URL cannot be read")

// Proxy accepts connections until it is closed.
type Proxy struct {
	listener         net.Listener
	url              string
	network, address string // of the server
	serve            func(client, server net.Conn)

	mu   sync.Mutex
	open map[net.Conn]bool // nil when the proxy is closed
	work sync.WaitGroup
}

// Start starts a proxy for the server of databaseURL, the first one if it names several. It
// calls serve for each connection, and closes both sides when serve returns.
func Start(databaseURL string, serve func(client, server net.Conn)) (*Proxy, error) {
	cfg, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		return nil, errURL
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // Listen does not wait
	if err != nil {
		return nil, fmt.Errorf("start the proxy: %w", err)
	}
	p := &Proxy{listener: listener, serve: serve, open: map[net.Conn]bool{}}
	p.network, p.address = pgconn.NetworkAddress(cfg.Host, cfg.Port)
	if p.url, err = redirect(databaseURL, listener.Addr().String()); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	p.work.Go(p.accept)
	return p, nil
}

// redirect returns databaseURL with another address.
func redirect(databaseURL, address string) (string, error) {
	u, err := url.Parse(databaseURL)
	if err != nil {
		return "", errURL
	}
	query := u.Query()
	query.Del("host")
	query.Del("port")
	query.Set("sslmode", "disable")
	u.Host, u.RawQuery = address, query.Encode()
	return u.String(), nil
}

// URL returns the URL that leads to the database through the proxy.
func (p *Proxy) URL() string { return p.url }

// Close ends all connections, and returns when serve has returned for each.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	p.mu.Lock()
	open := p.open
	p.open = nil
	p.mu.Unlock()
	for conn := range open {
		_ = conn.Close() // ends both directions
	}
	p.work.Wait()
	return err
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		p.work.Go(func() { p.connect(client) })
	}
}

func (p *Proxy) connect(client net.Conn) {
	defer client.Close()                          //nolint:errcheck // the client sees the error
	server, err := net.Dial(p.network, p.address) //nolint:noctx // the server is on this machine
	if err != nil {
		return
	}
	defer server.Close() //nolint:errcheck // as above
	if !p.keep(client, server) {
		return
	}
	p.serve(client, server)
	p.forget(client, server)
}

// keep adds connections to those that Close closes. It returns false after Close.
func (p *Proxy) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open == nil {
		return false
	}
	for _, conn := range conns {
		p.open[conn] = true
	}
	return true
}

func (p *Proxy) forget(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range conns {
		delete(p.open, conn)
	}
}
