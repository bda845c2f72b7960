package app

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"example.com/orders/internal/config"
	"example.com/orders/internal/observe/panics"
	testlog "example.com/orders/internal/test/log"
)

// What net/http reports about a connection is a line of our log.
func TestServer_LogsTheErrorsOfItsConnections(t *testing.T) {
	t.Parallel()
	var log testlog.Buffer
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

	lines := log.Lines(t)
	if len(lines) != 1 || lines[0]["level"] != "warn" || !strings.Contains(lines[0]["message"].(string), "panic serving") {
		t.Errorf("the log is %v, want one warning", lines)
	}
}

func TestNewLog_AddsTheStackOfAPanic(t *testing.T) {
	t.Parallel()
	var out testlog.Buffer
	log := NewLog(config.Config{LogFormat: "json"}, &out)
	log.Warn().Err(errors.New("broken")).Msg("an error")
	log.Warn().Err(panics.Recovered("a bug")).Msg("a panic")

	lines := out.Lines(t)
	if len(lines) != 2 || lines[0]["stack"] != nil {
		t.Fatalf("the log is %v, want two lines, the first one without a stack", lines)
	}
	if stack, _ := lines[1]["stack"].(string); !strings.Contains(stack, "log_test.go") || lines[1]["error"] != "panic: a bug" {
		t.Errorf("the line of the panic is %v", lines[1])
	}
}

func TestConsole_BeginsWithTheRequest(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := newConsole(&out)
	w.TimeLocation = time.UTC
	line := `{"time":"2026-11-22T18:03:46.05Z","level":"info","request_id":"R1","duration_ms":3.14,"method":"POST","route":"/orders","status":201,"message":"request"}`
	if _, err := io.WriteString(w, line); err != nil {
		t.Fatal(err)
	}
	want := "18:03:46 INF request status=201 method=POST route=/orders duration_ms=3.14 request_id=R1\n"
	if out.String() != want {
		t.Errorf("the line is %q\nwant        %q", out.String(), want)
	}
}
