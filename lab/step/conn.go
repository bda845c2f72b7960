package step

import (
	"encoding/binary"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"example.com/orders/lab/step/server"
)

// conn is the service's end of a link. Both ends are buffers, so no goroutine runs in
// between. It breaks with the errors of a socket.
type conn struct {
	mu       sync.Mutex
	changed  sync.Cond
	pending  []server.Message // from the service; the first one has no type, and gets 0
	unparsed []byte
	started  bool
	replies  []byte // not read yet
	closed   bool   // by the service
	broken   bool   // by the run
	expired  bool
	deadline *time.Timer
}

func (c *conn) init() { c.changed.L = &c.mu }

// Read implements [net.Conn].
func (c *conn) Read(p []byte) (int, error) {
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
func (c *conn) Write(p []byte) (int, error) {
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
		m := make(server.Message, 1-typed, 1-typed+size)
		c.pending = append(c.pending, append(m, c.unparsed[:size]...))
		c.unparsed, c.started = c.unparsed[size:], true
	}
}

func reset(op string) error { return &net.OpError{Op: op, Net: "tcp", Err: syscall.ECONNRESET} }

// Close implements [net.Conn].
func (c *conn) Close() error {
	c.change(func() { c.closed = true })
	return nil
}

// deliver hands replies to the service. They are not read yet when it returns.
func (c *conn) deliver(raw []byte) { c.change(func() { c.replies = append(c.replies, raw...) }) }

// sever breaks the connection. The service can read the replies that it has.
func (c *conn) sever() { c.change(func() { c.broken = true }) }

func (c *conn) change(how func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	how()
	c.changed.Broadcast()
}

// SetDeadline implements [net.Conn].
func (c *conn) SetDeadline(t time.Time) error {
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
func (c *conn) SetReadDeadline(t time.Time) error { return c.SetDeadline(t) }

// SetWriteDeadline implements [net.Conn].
func (c *conn) SetWriteDeadline(t time.Time) error { return c.SetDeadline(t) }

// LocalAddr implements [net.Conn].
func (c *conn) LocalAddr() net.Addr { return &net.TCPAddr{} }

// RemoteAddr implements [net.Conn].
func (c *conn) RemoteAddr() net.Addr { return &net.TCPAddr{} }
