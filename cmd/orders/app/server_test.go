package app

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// Without these limits, a client that sends a byte now and then, or reads nothing, keeps a
// connection for ever. net/http has no such limits by default.
func TestServer_EndsSlowRequests(t *testing.T) {
	t.Parallel()
	s := server(http.NotFoundHandler(), zerolog.Nop())
	for _, limit := range []struct {
		name      string
		got, most time.Duration
	}{
		{"the header", s.ReadHeaderTimeout, 10 * time.Second},
		{"the whole request", s.ReadTimeout, 30 * time.Second},
		{"the response", s.WriteTimeout, time.Minute},
		{"the next request", s.IdleTimeout, 5 * time.Minute},
	} {
		if limit.got <= 0 || limit.got > limit.most {
			t.Errorf("%s may take %v; want a limit of at most %v", limit.name, limit.got, limit.most)
		}
	}
}

func TestServer_RefusesALargeHeader(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(nil)
	s.Config = server(http.NotFoundHandler(), zerolog.Nop())
	s.Start()
	t.Cleanup(s.Close)
	for size, want := range map[int]int{16 << 10: http.StatusNotFound, 64 << 10: http.StatusRequestHeaderFieldsTooLarge} {
		if got := statusOf(t, s.Listener.Addr().String(), strings.Repeat("x", size)); got != want {
			t.Errorf("a header of %d bytes: status %d, want %d", size, got, want)
		}
	}
}

// statusOf returns the status of a request with a header of its own.
func statusOf(t *testing.T, addr, header string) int {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	// The server may answer, and close the connection, before it has read everything.
	go func() { _, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: orders\r\nX-Large: "+header+"\r\n\r\n") }()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	return response.StatusCode
}
