// Package wire is a proxy for PostgreSQL that knows the messages which it forwards.
// Tests cut a connection at any message of a conversation, hold messages back, or reset it.
package wire

import (
	"net"
	"sync"
	"sync/atomic"

	pgproxy "example.com/orders/internal/test/pg/proxy"
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
	*pgproxy.Proxy

	cuts atomic.Int64

	mu      sync.Mutex
	hook    Hook
	numbers int // of connections so far
	open    map[*link]bool
	refuse  bool
}

// Start starts a proxy on loopback for the server of databaseURL, the first one if it
// names several. Hooks must not block any more when it is closed.
func Start(databaseURL string) (_ *Proxy, err error) {
	p := &Proxy{open: map[*link]bool{}}
	p.Proxy, err = pgproxy.Start(databaseURL, p.connect)
	return p, err
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
	links := make([]*link, 0, len(p.open))
	for l := range p.open {
		links = append(links, l)
	}
	return links
}

func (p *Proxy) connect(client, server net.Conn) {
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
	if p.refuse {
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
