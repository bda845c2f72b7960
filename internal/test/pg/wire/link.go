package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

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
