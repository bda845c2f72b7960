package probe

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Request is a request before key and principal are added.
type Request struct {
	Method, Path, Body string
	Header             http.Header
}

// call is a request as it is sent: to which process, by whom, under which keys.
type call struct {
	Request
	server string
	who    http.Header
	header string // name of the key header
	keys   []string
	// timeout bounds the answer; the zero value stands for none.
	timeout time.Duration
	// answered receives when the answer came. It may be nil.
	answered *atomic.Int64
}

// Exchange is a request and the response, if there was one.
type Exchange struct {
	Request  Request // with all headers
	Server   string
	Status   int // 0 if there was no response
	Header   http.Header
	Body     []byte
	Err      error     // why there was no response
	From, To time.Time // from the request's last byte to the response
}

// conn is an open connection on which one request is sent. No HTTP client stands between
// the probes and the server: it would add headers, fold them, or retry.
type conn struct {
	net.Conn

	call call
	rest []byte // unsent bytes of the request
}

const maxResponse = 16 << 20

var errLong = errors.New("the response has more than 16 MiB")

// dial opens the connection of a call.
func dial(ctx context.Context, c call) (*conn, error) {
	u, err := url.Parse(c.server)
	if err != nil {
		return nil, err
	}
	if strings.ContainsAny(c.Path+fmt.Sprint(c.headers()), "\r\n") { // a server may have chosen a part
		return nil, errors.New("a line break in the path or in a header")
	}
	address := net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), map[string]string{"https": "443"}[u.Scheme], "80"))
	plain := &net.Dialer{Timeout: c.timeout}
	dialer := map[bool]func(context.Context, string, string) (net.Conn, error){
		false: plain.DialContext,
		true:  (&tls.Dialer{NetDialer: plain, Config: &tls.Config{NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS12}}).DialContext,
	}[u.Scheme == "https"]
	stream, err := dialer(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	c.Path = strings.TrimSuffix(u.Path, "/") + c.Path
	return &conn{Conn: stream, call: c, rest: c.bytes(u.Host)}, nil
}

// headers returns the headers of a call in the order in which they are sent.
func (c call) headers() [][2]string {
	var fields [][2]string
	for _, header := range []http.Header{c.who, c.Header} {
		for _, name := range slices.Sorted(maps.Keys(header)) {
			for _, value := range header[name] {
				fields = append(fields, [2]string{name, value})
			}
		}
	}
	if c.Body != "" && c.Header.Get("Content-Type") == "" {
		fields = append(fields, [2]string{"Content-Type", "application/json"})
	}
	for _, key := range c.keys {
		fields = append(fields, [2]string{c.header, key})
	}
	return fields
}

func (c call) bytes(host string) []byte {
	var text bytes.Buffer
	fmt.Fprintf(&text, "%s %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: auth19\r\nConnection: close\r\n", c.Method, c.Path, host)
	for _, field := range c.headers() {
		fmt.Fprintf(&text, "%s: %s\r\n", field[0], field[1])
	}
	if c.Body != "" || c.Method != http.MethodGet {
		fmt.Fprintf(&text, "Content-Length: %d\r\n", len(c.Body))
	}
	text.WriteString("\r\n" + c.Body)
	return text.Bytes()
}

// write sends all bytes of the request but the last ones.
func (c *conn) write(keep int) error {
	cut := len(c.rest) - keep
	_, err := c.Write(c.rest[:cut])
	c.rest = c.rest[cut:]
	return err
}

// finish sends the rest of the request, reads the response, and closes the connection.
func (c *conn) finish(ctx context.Context) Exchange {
	defer func() { _ = c.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	if c.call.timeout > 0 {
		_ = c.SetDeadline(time.Now().Add(c.call.timeout))
	}
	sent := Exchange{Request: c.call.Request, Server: c.call.server, From: time.Now()}
	sent.Request.Header = http.Header{}
	for _, field := range c.call.headers() {
		sent.Request.Header[field[0]] = append(sent.Request.Header[field[0]], field[1])
	}
	// A server may answer and close before it has read everything.
	writing := c.write(0)
	sent.Err = sent.read(bufio.NewReader(io.LimitReader(c, 2*maxResponse)), c.call.Method)
	sent.To = time.Now()
	if c.call.answered != nil {
		c.call.answered.Store(sent.To.UnixNano())
	}
	if sent.Err != nil {
		sent.Status, sent.Err = 0, cmp.Or(ctx.Err(), writing, sent.Err)
	}
	return sent
}

func (e *Exchange) read(from *bufio.Reader, method string) error {
	for {
		response, err := http.ReadResponse(from, &http.Request{Method: method})
		if err != nil {
			return err
		}
		e.Status, e.Header = response.StatusCode, response.Header
		if e.Status/100 == 1 {
			continue
		}
		e.Body, err = unpacked(response)
		_ = response.Body.Close()
		return err
	}
}

// unpacked returns the body of a response. A server may send a small one that unpacks to
// an endless one.
func unpacked(response *http.Response) ([]byte, error) {
	var from io.Reader = response.Body
	if strings.EqualFold(response.Header.Get("Content-Encoding"), "gzip") {
		unzipped, err := gzip.NewReader(from)
		if errors.Is(err, io.EOF) { // no body
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		from = unzipped
	}
	body, err := io.ReadAll(io.LimitReader(from, maxResponse+1))
	if len(body) > maxResponse {
		return nil, errLong
	}
	return body, err
}

// Send sends a request that is not under test.
func Send(ctx context.Context, server string, who http.Header, r Request) Exchange {
	return unlimited(ctx, func() Exchange { return exchange(ctx, call{Request: r, server: server, who: who}) })
}

// unlimited repeats a request that was refused because there were too many, until the
// context ends.
func unlimited(ctx context.Context, send func() Exchange) Exchange {
	for {
		got := send()
		if !got.limited() {
			return got
		}
		wait, _ := strconv.Atoi(got.Header.Get("Retry-After"))
		select {
		case <-ctx.Done():
			return got
		case <-time.After(time.Duration(min(max(wait, 1), 3600)) * time.Second):
		}
	}
}

// exchange sends a call on a new connection.
func exchange(ctx context.Context, c call) Exchange {
	connection, err := dial(ctx, c)
	if err != nil {
		return Exchange{Request: c.Request, Server: c.server, Err: err}
	}
	return connection.finish(ctx)
}

// together sends calls at the same moment: all connections are open, and the server has
// read every request but the last byte.
func together(ctx context.Context, calls []call) ([]Exchange, error) {
	connections := make([]*conn, 0, len(calls))
	for _, c := range calls {
		connection, err := dial(ctx, c)
		if err == nil {
			connections = append(connections, connection)
			err = connection.write(1)
		}
		if err != nil {
			for _, open := range connections {
				_ = open.Close()
			}
			return nil, err
		}
	}
	exchanges := make([]Exchange, len(calls))
	start := make(chan struct{})
	var all sync.WaitGroup
	for i, connection := range connections {
		all.Go(func() {
			<-start
			exchanges[i] = connection.finish(ctx)
		})
	}
	close(start)
	all.Wait()
	return exchanges, nil
}

// met reports whether two of the requests were under way at the same time.
func met(exchanges []Exchange) bool {
	byStart := slices.SortedFunc(slices.Values(exchanges), func(a, b Exchange) int { return a.From.Compare(b.From) })
	for i := 1; i < len(byStart); i++ {
		if byStart[i].From.Before(byStart[i-1].To) {
			return true
		}
	}
	return false
}

func (e Exchange) succeeded() bool { return e.Status/100 == 2 }

// same reports whether two responses have the same status and body.
func (e Exchange) same(as Exchange) bool {
	return e.Status == as.Status && bytes.Equal(e.Body, as.Body)
}

func (e Exchange) location() string { return e.Header.Get("Location") }

// Outcome returns the name of a response that is no success.
func (e Exchange) Outcome() string {
	switch {
	case e.Status == 0:
		return "no answer"
	case e.succeeded():
		return "accepted"
	case e.Status/100 == 3:
		return fmt.Sprintf("refused %d, to %s, which is not followed", e.Status, e.location())
	case e.Header.Get("Retry-After") != "":
		return fmt.Sprintf("refused %d with Retry-After", e.Status)
	}
	return fmt.Sprintf("refused %d", e.Status)
}
