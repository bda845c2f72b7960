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
	"github.com/jackc/pgx/v5/pgproto3"
)

// proxy forwards the traffic between a store and its server, and breaks connections
// where a test asks for it.
type proxy struct {
	listener net.Listener
	server   *pgconn.Config
	all      sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
	// toLose counts the answers to COMMIT that remain to be lost, lost those that were.
	toLose, lost int
	// instead replaces the answers to COMMIT.
	instead *pgproto3.ErrorResponse
	// toHold delays the next answer.
	toHold *hold
	// toPass counts the round trips until a connection is broken; it is negative when
	// none is to be.
	toPass int
}

// hold is an answer that is delayed until the test releases it.
type hold struct{ begun, released chan struct{} }

// through starts a proxy and returns the URL of the database behind it.
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
	p := &proxy{listener: listener, server: server, toPass: -1}
	p.all.Go(p.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		p.breakAll()
		p.all.Wait()
	})
	return p, fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", server.User, listener.Addr(), server.Database)
}

// loseAnswersToCommit breaks the connection after the server has committed, and before
// the client gets: the next n times.
func (p *proxy) loseAnswersToCommit(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.toLose = n
}

// replaceAnswersToCommit reports an error after the server has committed, as a connection
// pooler does that has lost the server.
func (p *proxy) replaceAnswersToCommit(e *pgproto3.ErrorResponse) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.instead = e
}

// holdNextAnswer delays the next answer of the server, and what follows on its
// connection, until release is called. It closes begun when it does.
func (p *proxy) holdNextAnswer() (begun <-chan struct{}, release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := &hold{make(chan struct{}), make(chan struct{})}
	p.toHold = h
	return h.begun, sync.OnceFunc(func() { close(h.released) })
}

// breakAfter breaks the connection that makes a round trip after n others, once. The
// server has done what it was asked for, but its answer is lost.
func (p *proxy) breakAfter(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.toPass = n
}

// breaks reports whether the answer of a round trip is to be lost.
func (p *proxy) breaks() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.toPass >= 0 {
		p.toPass--
		return p.toPass < 0
	}
	return false
}

func (p *proxy) holdAnswer() {
	p.mu.Lock()
	h := p.toHold
	p.toHold = nil
	p.mu.Unlock()
	if h != nil {
		close(h.begun)
		<-h.released
	}
}

// lostAnswers returns how many answers to COMMIT were lost.
func (p *proxy) lostAnswers() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

// breakAll breaks all connections.
func (p *proxy) breakAll() {
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

// answer forwards the messages of the server one by one: a byte for the type, four for
// the length, then the body.
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
		p.holdAnswer()
		if head[0] == 'Z' && p.breaks() {
			return
		}
		answer := slices.Concat(head, rest)
		if head[0] == 'C' && string(rest) == "COMMIT\x00" {
			if answer = p.answerToCommit(answer); answer == nil {
				return
			}
		}
		if _, err := client.Write(answer); err != nil {
			return
		}
	}
}

// answerToCommit returns what the client gets, nil when the answer is to be lost.
func (p *proxy) answerToCommit(answer []byte) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.toLose > 0:
		p.toLose--
		p.lost++
		return nil
	case p.instead != nil:
		p.lost++
		answer, err := p.instead.Encode(nil)
		if err != nil {
			panic(err)
		}
		return answer
	}
	return answer
}
