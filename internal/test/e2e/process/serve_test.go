// Package process_test tests the programs as processes: the command line, signals, kills,
// jobs, the outbox and round trips.
package process_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/orders/internal/test/e2e"
	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestServe_RefusesOutdatedSchema(t *testing.T) {
	t.Parallel()
	binary := e2e.BuildOrders(t)
	for name, outdate := range map[string]func(t testing.TB, env *e2e.Env){
		"empty": emptyDatabase,
		"old": func(t testing.TB, env *e2e.Env) {
			t.Helper()
			env.Exec(t, `UPDATE schema_migrations SET version = version - 1`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := e2e.NewEnv(t)
			outdate(t, env)
			if message := errorOf(t, binary, env.Environ(t), "serve"); !strings.Contains(message, "orders migrate up") {
				t.Errorf("the error does not say what to do: %s", message)
			}
		})
	}
}

// A newer schema is good enough, because an upgrade migrates first, and so is one that is
// being migrated: for that long, it is dirty. An older one means that somebody replaced the
// database of a running service.
func TestReadiness_DependsOnSchema(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	for _, c := range []struct {
		change string
		want   int
	}{
		{"version = version - 1", http.StatusServiceUnavailable},
		{"version = version + 2", http.StatusOK},
		{"version = version - 2", http.StatusServiceUnavailable},
		{"version = version + 2, dirty = true", http.StatusOK},
		{"version = version - 1", http.StatusServiceUnavailable},
		{"dirty = false", http.StatusOK},
	} {
		s.Exec(t, `UPDATE schema_migrations SET `+c.change)
		e2e.Eventually(t, fmt.Sprintf("after %s: status %d", c.change, c.want), func() bool {
			return s.Send(t, e2e.Get("", "/health/ready")).Status == c.want
		})
	}
}

func TestServe_ReportsPortInUseInOneLine(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	inUse, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = inUse.Close() })
	addr := inUse.Addr().String()
	orders := e2e.BuildOrders(t)
	for _, variable := range []string{"ORDERS_ADDR", "ORDERS_ADMIN_ADDR"} {
		message := errorOf(t, orders, env.Environ(t, variable+"="+addr), "serve")
		if !strings.Contains(message, addr) || !strings.Contains(message, variable) || strings.Contains(message, "\n") {
			t.Errorf("not one line about %s and %s: %s", addr, variable, message)
		}
	}
}

// output runs a program that must succeed, and returns what it prints.
func output(t *testing.T, binary string, environ []string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Env = append(systemEnviron(), environ...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", cmd, err)
	}
	return string(out)
}

// errorOf runs a program that must exit with status 1, and returns its error message.
func errorOf(t *testing.T, binary string, environ []string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(systemEnviron(), environ...), &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		t.Errorf("%s: it did not exit by itself", cmd)
	}
	if cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("%s: %v, want exit status 1; it printed %s%s", cmd, err, &stdout, &stderr)
	}
	message, prefixed := strings.CutPrefix(stderr.String(), filepath.Base(binary)+": ")
	if !prefixed {
		t.Errorf("%s: the error does not begin with the name of the program: %s", cmd, &stderr)
	}
	return strings.TrimSuffix(message, "\n")
}

// systemEnviron returns the variables that any program needs, and none of ours.
func systemEnviron() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
}

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

// lines returns the log of a process so far. Every line must be JSON.
func lines(t testing.TB, p *e2e.Process) (all []map[string]any) {
	t.Helper()
	for written := range strings.Lines(p.Log()) {
		if !strings.HasSuffix(written, "\n") {
			break // its end is still to come
		}
		var line map[string]any
		if err := json.Unmarshal([]byte(written), &line); err != nil {
			t.Fatalf("%v in the line %s", err, written)
		}
		all = append(all, line)
	}
	return all
}

// wantLine waits for a warning in the log of a process.
func wantLine(t testing.TB, p *e2e.Process, text string) {
	t.Helper()
	e2e.Eventually(t, "a warning: "+text, func() bool {
		return slices.ContainsFunc(lines(t, p), func(line map[string]any) bool {
			message, _ := line["message"].(string)
			return line["level"] == "warn" && strings.Contains(message, text)
		})
	})
}

func TestLog_HasOnlyLinesOfJSON(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	_, keys := e2e.Fetch(t, env.JWKSURL)
	p := env.StartProcess(t, e2e.BuildOrders(t), "ORDERS_JWKS_URL="+chattyIssuer(t, keys))
	wantLine(t, p, "Unsolicited response")
}

// lineAbout waits for the line of a process with a message. There must be one.
func lineAbout(t testing.TB, p *e2e.Process, message string) map[string]any {
	t.Helper()
	var found []map[string]any
	e2e.Eventually(t, "a line says "+message, func() bool {
		found = slices.DeleteFunc(lines(t, p), func(line map[string]any) bool { return line["message"] != message })
		return len(found) > 0
	})
	if len(found) != 1 {
		t.Fatalf("%d lines say %q, want 1:\n%s", len(found), message, p.Log())
	}
	return found[0]
}
