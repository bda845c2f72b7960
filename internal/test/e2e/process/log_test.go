package process_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// chattyIssuer serves a key set on connections that it keeps open, and goes on to talk on
// them, which net/http reports with the package log.
func chattyIssuer(t testing.TB, keys string) (url string) {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go talk(conn, keys)
		}
	}()
	return "http://" + ln.Addr().String()
}

// talk answers one request, and then writes what nobody asked for.
func talk(conn net.Conn, keys string) {
	defer func() { _ = conn.Close() }()
	if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
		return
	}
	if _, err := fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%sunsolicited", len(keys), keys); err != nil {
		return
	}
	_, _ = conn.Read(make([]byte, 1)) // until the other side closes the connection
}

// wantLine waits for a warning in the log of a process, every line of which must be JSON.
func wantLine(t testing.TB, p *e2e.Process, text string) {
	t.Helper()
	e2e.Eventually(t, "a warning: "+text, func() bool {
		found := false
		for written := range strings.Lines(p.Log()) {
			if !strings.HasSuffix(written, "\n") {
				break // its end is still to come
			}
			var line struct{ Level, Message string }
			if err := json.Unmarshal([]byte(written), &line); err != nil {
				t.Fatalf("%v in the line %s", err, written)
			}
			found = found || line.Level == "warn" && strings.Contains(line.Message, text)
		}
		return found
	})
}

func TestLog_HasOnlyLinesOfJSON(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	_, keys := e2e.Fetch(t, env.JWKSURL)
	p := env.StartProcess(t, e2e.BuildOrders(t), "ORDERS_JWKS_URL="+chattyIssuer(t, keys))
	wantLine(t, p, "Unsolicited response")
}

// lineAbout returns the line of a process with a message. There must be one.
func lineAbout(t testing.TB, p *e2e.Process, message string) map[string]any {
	t.Helper()
	var found []map[string]any
	for written := range strings.Lines(p.Log()) {
		var line map[string]any
		if err := json.Unmarshal([]byte(written), &line); err != nil {
			t.Fatalf("%v in the line %s", err, written)
		}
		if line["message"] == message {
			found = append(found, line)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d lines say %q, want 1:\n%s", len(found), message, p.Log())
	}
	return found[0]
}
