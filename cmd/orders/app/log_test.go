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
