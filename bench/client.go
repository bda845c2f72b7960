package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
)

// call is a request of the load.
type call struct{ path, token, key, body string }

// reply is what is looked at of an answer.
type reply struct {
	status   int
	replayed bool
	body     []byte // valid until the next request
}

// client is one keep-alive connection. It speaks just enough HTTP/1.1 for answers that
// tell their length: the load shares the machine with what it measures, so it does no
// more than it must.
type client struct {
	conn    net.Conn
	r       *bufio.Reader
	host    string
	request []byte
	body    []byte
}

func dial(ctx context.Context, addr string) (*client, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &client{conn: conn, r: bufio.NewReaderSize(conn, 8<<10), host: addr}, nil
}

func (c *client) close() { _ = c.conn.Close() } // everything asked for has been answered

// do sends a POST and reads its answer to the end.
func (c *client) do(call call) (reply, error) {
	c.request = call.append(c.request[:0], c.host)
	if _, err := c.conn.Write(c.request); err != nil {
		return reply{}, err
	}
	return c.read()
}

func (call call) append(b []byte, host string) []byte {
	b = append(b, "POST "...)
	b = append(b, call.path...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, host...)
	b = append(b, "\r\nAuthorization: Bearer "...)
	b = append(b, call.token...)
	b = append(b, "\r\nIdempotency-Key: "...)
	b = append(b, call.key...)
	b = append(b, "\r\nContent-Type: application/json\r\nContent-Length: "...)
	b = strconv.AppendInt(b, int64(len(call.body)), 10)
	b = append(b, "\r\n\r\n"...)
	return append(b, call.body...)
}

var (
	lengthHeader   = []byte("Content-Length")
	replayedHeader = []byte("Idempotent-Replayed")
)

func (c *client) read() (reply, error) {
	line, err := c.line()
	if err != nil {
		return reply{}, err
	}
	var rep reply
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) {
		return rep, fmt.Errorf("not an answer: %q", line)
	}
	if rep.status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return rep, fmt.Errorf("not an answer: %q", line)
	}
	length := -1
	for {
		if line, err = c.line(); err != nil {
			return rep, err
		}
		if len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(": "))
		switch {
		case bytes.EqualFold(name, lengthHeader):
			length, err = strconv.Atoi(string(value))
			if err != nil {
				return rep, fmt.Errorf("not a length: %q", line)
			}
		case bytes.EqualFold(name, replayedHeader):
			rep.replayed = string(value) == "true"
		}
	}
	rep.body, err = c.readBody(length)
	return rep, err
}

// line reads a line without its end.
func (c *client) line() ([]byte, error) {
	line, err := c.r.ReadSlice('\n')
	return bytes.TrimSuffix(line, []byte("\r\n")), err
}

func (c *client) readBody(length int) ([]byte, error) {
	if length < 0 {
		return nil, errors.New("an answer that does not tell its length")
	}
	if cap(c.body) < length {
		c.body = make([]byte, length)
	}
	c.body = c.body[:length]
	_, err := io.ReadFull(c.r, c.body)
	return c.body, err
}
