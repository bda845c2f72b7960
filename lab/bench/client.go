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

// request is one POST request.
type request struct{ path, token, key, body string }

// response contains the parts that the benchmark checks.
type response struct {
	status   int
	replayed bool
	body     []byte // valid until the next request
}

// client is one keep-alive connection. It supports only responses with a
// Content-Length: the load generator shares the machine with the measured programs, so
// it does as little as possible.
type client struct {
	conn net.Conn
	r    *bufio.Reader
	host string
	sent []byte // buffer for the last request
	body []byte // buffer for the last response
}

func dial(ctx context.Context, addr string) (*client, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &client{conn: conn, r: bufio.NewReaderSize(conn, 8<<10), host: addr}, nil
}

func (c *client) close() { _ = c.conn.Close() } // no response is outstanding

// do sends a request and reads the whole response.
func (c *client) do(req request) (response, error) {
	c.sent = req.append(c.sent[:0], c.host)
	if _, err := c.conn.Write(c.sent); err != nil {
		return response{}, err
	}
	return c.read()
}

func (req request) append(b []byte, host string) []byte {
	b = append(b, "POST "...)
	b = append(b, req.path...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, host...)
	b = append(b, "\r\nAuthorization: Bearer "...)
	b = append(b, req.token...)
	b = append(b, "\r\nIdempotency-Key: "...)
	b = append(b, req.key...)
	b = append(b, "\r\nContent-Type: application/json\r\nContent-Length: "...)
	b = strconv.AppendInt(b, int64(len(req.body)), 10)
	b = append(b, "\r\n\r\n"...)
	return append(b, req.body...)
}

func (c *client) read() (response, error) {
	var res response
	var err error
	if res.status, err = c.readStatus(); err != nil {
		return res, err
	}
	length, err := c.readHeaders(&res)
	if err != nil {
		return res, err
	}
	res.body, err = c.readBody(length)
	return res, err
}

func (c *client) readStatus() (int, error) {
	line, err := c.readLine()
	if err != nil {
		return 0, err
	}
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) {
		return 0, fmt.Errorf("invalid status line %q", line)
	}
	status, err := strconv.Atoi(string(line[9:12]))
	if err != nil {
		return 0, fmt.Errorf("invalid status line %q", line)
	}
	return status, nil
}

var (
	lengthHeader   = []byte("Content-Length")
	replayedHeader = []byte("Idempotent-Replayed")
)

// readHeaders returns the body's length, or -1 if no header states it.
func (c *client) readHeaders(res *response) (int, error) {
	length := -1
	for {
		line, err := c.readLine()
		if err != nil || len(line) == 0 {
			return length, err
		}
		name, value, _ := bytes.Cut(line, []byte(": "))
		switch {
		case bytes.EqualFold(name, lengthHeader):
			if length, err = strconv.Atoi(string(value)); err != nil {
				return 0, fmt.Errorf("invalid header %q", line)
			}
		case bytes.EqualFold(name, replayedHeader):
			res.replayed = string(value) == "true"
		}
	}
}

// readLine returns the next line without its line break.
func (c *client) readLine() ([]byte, error) {
	line, err := c.r.ReadSlice('\n')
	return bytes.TrimSuffix(line, []byte("\r\n")), err
}

func (c *client) readBody(length int) ([]byte, error) {
	if length < 0 {
		return nil, errors.New("response without Content-Length")
	}
	if cap(c.body) < length {
		c.body = make([]byte, length)
	}
	c.body = c.body[:length]
	_, err := io.ReadFull(c.r, c.body)
	return c.body, err
}
