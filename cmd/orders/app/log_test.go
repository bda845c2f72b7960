package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"example.com/orders/internal/config"
	"example.com/orders/internal/panics"
)

// logBuffer is a log that a test reads while a server writes to it.
type logBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

// lines returns the lines of the log, each of which must be JSON.
func (b *logBuffer) lines(t *testing.T) []map[string]any {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	var found []map[string]any
	for text := range strings.Lines(b.buffer.String()) {
		var line map[string]any
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("%v in the line %s", err, text)
		}
		found = append(found, line)
	}
	return found
}

// What net/http reports about a connection is a line of our log.
func TestServer_LogsTheErrorsOfItsConnections(t *testing.T) {
	t.Parallel()
	var log logBuffer
	broken := server(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("a bug") }), zerolog.New(&log))
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- broken.Serve(ln) }()

	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: orders\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(conn); err != nil || len(answer) > 0 { // the server closes it after the panic
		t.Errorf("the answer is %q, %v", answer, err)
	}
	if err := broken.Close(); err != nil || !errors.Is(<-ended, http.ErrServerClosed) {
		t.Errorf("the server ended with %v", err)
	}

	lines := log.lines(t)
	if len(lines) != 1 || lines[0]["level"] != "warn" || !strings.Contains(lines[0]["message"].(string), "panic serving") {
		t.Errorf("the log is %v, want one warning", lines)
	}
}

func TestNewLog_AddsTheStackOfAPanic(t *testing.T) {
	t.Parallel()
	var out logBuffer
	log := NewLog(config.Config{LogFormat: "json"}, &out)
	log.Warn().Err(errors.New("broken")).Msg("an error")
	log.Warn().Err(panics.Recovered("a bug")).Msg("a panic")

	lines := out.lines(t)
	if len(lines) != 2 || lines[0]["stack"] != nil {
		t.Fatalf("the log is %v, want two lines, the first one without a stack", lines)
	}
	if stack, _ := lines[1]["stack"].(string); !strings.Contains(stack, "log_test.go") || lines[1]["error"] != "panic: a bug" {
		t.Errorf("the line of the panic is %v", lines[1])
	}
}

func TestConsole_BeginsWithTheStatusAndEndsWithTheRequestID(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		colored    bool
		line, want string
	}{
		{false, `"level":"info","request_id":"R1","method":"POST","route":"/orders","status":201,"duration_ms":3.14,"order_id":17,"message":"request"`,
			"18:03:46 201 POST /orders 3.1ms order_id=17 request_id=R1"},
		{false, `"level":"info","request_id":"R2","method":"GET","route":"","status":404,"duration_ms":12,"code":"not_found","message":"request"`,
			"18:03:46 404 GET (no route) 12.0ms code=not_found request_id=R2"},
		{false, `"level":"warn","error":"broken","message":"outbox publish failed"`, "18:03:46 WRN outbox publish failed error=broken"},
		{true, `"method":"GET","route":"/orders","status":200,"duration_ms":1`, "\x1b[90m18:03:46\x1b[0m \x1b[32m200\x1b[0m GET /orders 1.0ms"},
		{true, `"method":"GET","route":"/orders","status":409,"duration_ms":1`, "\x1b[90m18:03:46\x1b[0m \x1b[33m409\x1b[0m GET /orders 1.0ms"},
		{true, `"method":"GET","route":"/orders","status":503,"duration_ms":1`, "\x1b[90m18:03:46\x1b[0m \x1b[31m503\x1b[0m GET /orders 1.0ms"},
	} {
		var out bytes.Buffer
		w := newConsole(&out, c.colored)
		w.TimeLocation = time.UTC
		if _, err := io.WriteString(w, `{"time":"2026-11-22T18:03:46.05Z",`+c.line+"}"); err != nil {
			t.Error(err)
		}
		if got := strings.TrimSuffix(out.String(), "\n"); got != c.want {
			t.Errorf("the line is %q\nwant        %q", got, c.want)
		}
	}
}
