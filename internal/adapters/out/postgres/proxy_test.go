package postgres_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// proxy stands between a store and its server, and breaks the connection where a test
// says so.
type proxy struct {
	listener net.Listener
	server   *pgconn.Config
	all      sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
	// toLose is how many answers to COMMIT shall be lost, lost how many were.
	toLose, lost int
}

// through gives the store a way to its database through a proxy.
func (d *database) through(t *testing.T) (*proxy, string) {
	t.Helper()
	server, err := pgconn.ParseConfig(d.url)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: listener, server: server}
	p.all.Go(p.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		p.cut()
		p.all.Wait()
	})
	return p, fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", server.User, listener.Addr(), server.Database)
}

// loseAnswersToCommit breaks the connection after the server has committed, and before
// the client is told: the next n times.
func (p *proxy) loseAnswersToCommit(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.toLose = n
}

// lostAnswers tells how many answers to COMMIT were lost.
func (p *proxy) lostAnswers() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

// cut breaks all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		network, address := pgconn.NetworkAddress(p.server.Host, p.server.Port)
		server, err := net.Dial(network, address)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		p.all.Go(func() { _, _ = io.Copy(server, client); _ = server.Close() })
		p.all.Go(func() { p.answer(client, server); _ = client.Close(); _ = server.Close() })
	}
}

// answer passes on what the server says, one message at a time: a byte for its type,
// four for its length, and the rest.
func (p *proxy) answer(client, server net.Conn) {
	for from := bufio.NewReader(server); ; {
		head := make([]byte, 5)
		if _, err := io.ReadFull(from, head); err != nil {
			return
		}
		rest := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
		if _, err := io.ReadFull(from, rest); err != nil {
			return
		}
		if head[0] == 'C' && string(rest) == "COMMIT\x00" && p.loses() {
			return
		}
		if _, err := client.Write(slices.Concat(head, rest)); err != nil {
			return
		}
	}
}

func (p *proxy) loses() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.toLose == 0 {
		return false
	}
	p.toLose--
	p.lost++
	return true
}
