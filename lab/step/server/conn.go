package server

import (
	"encoding/binary"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// Conn is the client end of a connection. Both directions are buffers, so no goroutine runs
// in between. It breaks with the errors of a socket.
type Conn struct {
	mu       sync.Mutex
	changed  sync.Cond
	pending  []Message // from the client
	unparsed []byte
	started  bool
	replies  []byte // not read yet
	closed   bool   // by the client
	broken   bool   // by Sever
	expired  bool
	deadline *time.Timer
}

// NewConn returns an open connection.
func NewConn() *Conn {
	c := &Conn{}
	c.changed.L = &c.mu
	return c
}

// Pending returns the messages of the client that are not processed. The first one of a
// connection has no type, and gets 0.
func (c *Conn) Pending() []Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pending
}

// Drop removes n messages that have been processed.
func (c *Conn) Drop(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = c.pending[n:]
}

// IsClosed reports whether the client has closed the connection.
func (c *Conn) IsClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// Read implements [net.Conn].
func (c *Conn) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		switch {
		case c.closed:
			return 0, reset("read")
		case c.expired:
			return 0, os.ErrDeadlineExceeded
		case len(c.replies) > 0:
			n := copy(p, c.replies)
			c.replies = c.replies[n:]
			return n, nil
		case c.broken:
			return 0, io.EOF
		}
		c.changed.Wait()
	}
}

// Write implements [net.Conn].
func (c *Conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed, c.broken:
		return 0, reset("write")
	case c.expired:
		return 0, os.ErrDeadlineExceeded
	}
	c.unparsed = append(c.unparsed, p...)
	for {
		typed := 1
		if !c.started {
			typed = 0
		}
		if len(c.unparsed) < typed+4 {
			return len(p), nil
		}
		size := typed + int(binary.BigEndian.Uint32(c.unparsed[typed:]))
		if len(c.unparsed) < size {
			return len(p), nil
		}
		m := make(Message, 1-typed, 1-typed+size)
		c.pending = append(c.pending, append(m, c.unparsed[:size]...))
		c.unparsed, c.started = c.unparsed[size:], true
	}
}

func reset(op string) error { return &net.OpError{Op: op, Net: "tcp", Err: syscall.ECONNRESET} }

// Close implements [net.Conn].
func (c *Conn) Close() error {
	c.change(func() { c.closed = true })
	return nil
}

// Deliver hands replies to the client. They are not read yet when it returns.
func (c *Conn) Deliver(raw []byte) { c.change(func() { c.replies = append(c.replies, raw...) }) }

// Sever breaks the connection. The client can read the replies that it has.
func (c *Conn) Sever() { c.change(func() { c.broken = true }) }

func (c *Conn) change(how func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	how()
	c.changed.Broadcast()
}

// SetDeadline implements [net.Conn].
func (c *Conn) SetDeadline(t time.Time) error {
	c.change(func() {
		if c.deadline != nil {
			c.deadline.Stop()
		}
		c.expired, c.deadline = false, nil
		if !t.IsZero() {
			c.deadline = time.AfterFunc(time.Until(t), func() { c.change(func() { c.expired = true }) })
		}
	})
	return nil
}

// SetReadDeadline implements [net.Conn].
func (c *Conn) SetReadDeadline(t time.Time) error { return c.SetDeadline(t) }

// SetWriteDeadline implements [net.Conn].
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.SetDeadline(t) }

// LocalAddr implements [net.Conn].
func (c *Conn) LocalAddr() net.Addr { return &net.TCPAddr{} }

// RemoteAddr implements [net.Conn].
func (c *Conn) RemoteAddr() net.Addr { return &net.TCPAddr{} }
