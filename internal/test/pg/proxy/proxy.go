// Package pgproxy is a PostgreSQL proxy that understands the messages it forwards. Tests cut a
// connection at any message, hold messages back, or reset it.
package pgproxy

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"net"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Verdict is the proxy action on a message.
type Verdict int

// The verdicts. A cut ends the connection on both sides. Earlier messages are delivered, and
// later ones are not.
const (
	// Forward forwards the message.
	Forward Verdict = iota
	// CutBefore drops the message, after its sender has done the work.
	CutBefore
	// CutWithin forwards half of the message.
	CutWithin
	// CutAfter forwards the message and drops the rest.
	CutAfter
)

// Hook decides about each message before it is forwarded. Connections and their two
// directions call it at the same time. While a hook blocks, its message and all later ones in
// the same direction wait.
type Hook func(Message) Verdict

// Proxy forwards connections to a server.
type Proxy struct {
	listener         net.Listener
	url              string
	network, address string // of the server
	work             sync.WaitGroup
	cuts             atomic.Int64

	mu      sync.Mutex
	hook    Hook
	numbers int            // connections so far
	open    map[*link]bool // nil when the proxy is closed
	refuse  bool
}

// Start starts a proxy on loopback for the server of databaseURL, the first one if it
// names several. At the end of the test, when hooks must not block any more, it ends all
// connections.
func Start(t testing.TB, databaseURL string) *Proxy {
	t.Helper()
	cfg, cfgErr := pgx.ParseConfig(databaseURL)
	u, err := url.Parse(databaseURL)
	if cfgErr != nil || err != nil {
		t.Fatal("the database URL cannot be read") // the details may contain the password
	}
	p := &Proxy{open: map[*link]bool{}}
	p.network, p.address = pgconn.NetworkAddress(cfg.Host, cfg.Port)
	if p.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil { //nolint:noctx // Listen does not wait
		t.Fatal(err)
	}
	query := u.Query()
	query.Del("host")
	query.Del("port")
	query.Set("sslmode", "disable")
	u.Host, u.RawQuery = p.listener.Addr().String(), query.Encode()
	p.url = u.String()
	p.work.Go(p.accept)
	t.Cleanup(func() {
		if err := p.close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// URL returns the database URL through the proxy.
func (p *Proxy) URL() string { return p.url }

func (p *Proxy) close() error {
	p.SetHook(nil)
	err := p.listener.Close()
	links := p.links()
	p.mu.Lock()
	p.open = nil
	p.mu.Unlock()
	for _, l := range links {
		l.close()
	}
	p.work.Wait()
	return err
}

// SetHook sets the hook for the messages from now on. Nil forwards all.
func (p *Proxy) SetHook(hook Hook) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hook = hook
}

// Cuts counts the connections that hooks have cut.
func (p *Proxy) Cuts() int { return int(p.cuts.Load()) }

// CutAll resets all open connections and returns their number.
func (p *Proxy) CutAll() int {
	links := p.links()
	for _, l := range links {
		l.resetBoth()
	}
	return len(links)
}

// Refuse sets whether new connections are reset before the server sees them.
func (p *Proxy) Refuse(refuse bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = refuse
}

// Idle reports whether no connection waits for the server or is inside a transaction.
func (p *Proxy) Idle() bool {
	for _, l := range p.links() {
		if !l.session.idle() {
			return false
		}
	}
	return true
}

func (p *Proxy) links() []*link {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Keys(p.open))
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
	server, err := net.Dial(p.network, p.address) //nolint:noctx // the server is on this machine
	if err != nil {
		_ = client.Close()
		return
	}
	l := &link{proxy: p, client: client, server: server}
	if !p.keep(l) {
		l.resetBoth()
		return
	}
	l.forward()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, l)
}

// keep numbers a connection and adds it to the open ones. It returns false if the
// connection is refused, or the proxy closed.
func (p *Proxy) keep(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refuse || p.open == nil {
		return false
	}
	p.numbers++
	l.session = newSession(p.numbers)
	p.open[l] = true
	return true
}

// judge asks the hook.
func (p *Proxy) judge(m Message) Verdict {
	p.mu.Lock()
	hook := p.hook
	p.mu.Unlock()
	if hook == nil {
		return Forward
	}
	return hook(m)
}

// maxMessage bounds the size of a message, so that a wrong length does not exhaust
// memory.
const maxMessage = 64 << 20

// link is a client connection with its server connection.
type link struct {
	proxy          *Proxy
	client, server net.Conn
	session        *session
	ended          atomic.Bool // by a cut: nothing passes after its message, either way
	reset          atomic.Bool // the client was sending then, and is reset
}

// forward forwards messages in both directions until one side ends.
func (l *link) forward() {
	var directions sync.WaitGroup
	directions.Go(func() {
		_ = l.forwardFrom(Client, l.client, l.server) // an error ends the link, as its end does
		if !l.ended.Load() {
			l.close()
		}
	})
	directions.Go(func() {
		_ = l.forwardFrom(Server, l.server, l.client)
		if l.reset.Load() {
			reset(l.client)
		}
		l.close()
	})
	directions.Wait()
}

func (l *link) forwardFrom(side Side, from io.Reader, to io.Writer) error {
	from = bufio.NewReader(from)
	typeSize := 1
	if side == Client {
		typeSize = 0 // the first message of a client has no type
	}
	for ; ; typeSize = 1 {
		raw, err := ReadMessage(from, typeSize)
		if err != nil {
			return err
		}
		m, err := l.session.read(side, raw, typeSize)
		if err != nil {
			return err
		}
		if err := l.pass(m, raw, to); err != nil {
			return err
		}
	}
}

// errCut ends a link that a hook has cut.
var errCut = errors.New("cut")

// pass forwards a message as the hook says. After a cut, only a client that was sending
// is reset: a reset discards unread bytes on the client.
func (l *link) pass(m Message, raw []byte, to io.Writer) error {
	verdict := l.proxy.judge(m)
	if l.ended.Load() {
		return nil
	}
	if verdict != Forward {
		l.ended.Store(true)
		l.proxy.cuts.Add(1) // before anybody can see the cut
	}
	switch verdict {
	case CutBefore:
		raw = nil
	case CutWithin:
		raw = raw[:len(raw)/2]
	case Forward, CutAfter:
	}
	if _, err := to.Write(raw); err != nil && !l.ended.Load() {
		return err
	}
	if verdict == Forward {
		return nil
	}
	return l.cut(m.From)
}

// cut ends the link at a message from one side. The server processes everything that reached it
// and ends. Only then does the client see the cut, so the database no longer changes.
func (l *link) cut(from Side) error {
	l.reset.Store(from == Client)
	if server, ok := l.server.(interface{ CloseWrite() error }); ok {
		_ = server.CloseWrite() // other users of a side see the error
	}
	if from == Client {
		return errCut
	}
	return nil // read on, until the server has ended
}

func (l *link) close() {
	_ = l.client.Close() // other users of a side see the error
	_ = l.server.Close()
}

// resetBoth ends both sides with a reset instead of an orderly end.
func (l *link) resetBoth() {
	reset(l.client)
	reset(l.server)
}

func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // only a closed connection fails
	}
	_ = conn.Close()
}

// ReadMessage reads one message: its type, of typeSize bytes, its length, which counts
// itself, and its body. A client's first message has no type.
func ReadMessage(from io.Reader, typeSize int) ([]byte, error) {
	head := make([]byte, typeSize+4)
	if _, err := io.ReadFull(from, head); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(head[typeSize:])
	if length < 4 || length > maxMessage {
		return nil, errors.New("not a PostgreSQL message")
	}
	raw := make([]byte, typeSize+int(length))
	_, err := io.ReadFull(from, raw[copy(raw, head):])
	return raw, err
}
