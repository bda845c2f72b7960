// Package wire is a proxy for PostgreSQL that knows the messages which it forwards.
// Tests cut a connection at any message of a conversation, stall the link, or reset it.
package wire

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Verdict is what the proxy does with a message.
type Verdict int

// The verdicts. A cut ends the connection on both sides. What passed before it is not
// lost, and nothing passes after it.
const (
	// Forward forwards the message.
	Forward Verdict = iota
	// CutBefore drops the message. Whoever sent it has done its work.
	CutBefore
	// CutWithin forwards half of the bytes of the message.
	CutWithin
	// CutAfter forwards the message, and nothing after it.
	CutAfter
)

// Hook decides about each message before it is forwarded. Connections and their two
// directions call it at the same time. While a hook blocks, its message waits, and so
// does what follows in the same direction.
type Hook func(Message) Verdict

// Proxy forwards connections to a server.
type Proxy struct {
	listener         net.Listener
	url              string
	network, address string // of the server
	cuts             atomic.Int64
	work             sync.WaitGroup

	mu      sync.Mutex
	hook    Hook
	numbers int            // of connections so far
	open    map[*link]bool // nil when the proxy is closed
	refuse  bool
	stalled chan struct{} // closed by Resume; nil when the link is not stalled
}

// Start starts a proxy on loopback for the server of databaseURL, the first one if it
// names several.
func Start(databaseURL string) (*Proxy, error) {
	cfg, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		return nil, errors.New("the database URL cannot be read") // err may contain the password
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // Listen does not wait
	if err != nil {
		return nil, fmt.Errorf("start the proxy: %w", err)
	}
	p := &Proxy{listener: listener, open: map[*link]bool{}}
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
		return "", errors.New("the database URL cannot be read")
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

// Stall lets no message pass until Resume, in either direction.
func (p *Proxy) Stall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stalled == nil {
		p.stalled = make(chan struct{})
	}
}

// Resume ends Stall.
func (p *Proxy) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stalled != nil {
		close(p.stalled)
		p.stalled = nil
	}
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

// Close ends all connections. Hooks must not block any more.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	p.Resume()
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

func (p *Proxy) links() []*link {
	p.mu.Lock()
	defer p.mu.Unlock()
	links := make([]*link, 0, len(p.open))
	for l := range p.open {
		links = append(links, l)
	}
	return links
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
		reset(client)
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
// connection is refused.
func (p *Proxy) keep(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open == nil || p.refuse {
		return false
	}
	p.numbers++
	l.session = newSession(p.numbers)
	p.open[l] = true
	return true
}

// judge waits while the link is stalled, and asks the hook.
func (p *Proxy) judge(m Message) Verdict {
	p.mu.Lock()
	stalled := p.stalled
	p.mu.Unlock()
	if stalled != nil {
		<-stalled
	}
	p.mu.Lock()
	hook := p.hook
	p.mu.Unlock()
	if hook == nil {
		return Forward
	}
	return hook(m)
}
