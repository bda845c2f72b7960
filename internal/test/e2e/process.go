package e2e

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	testport "example.com/orders/internal/test/port"
)

// Process is a running `orders serve`.
type Process struct {
	URL string

	cmd  *exec.Cmd
	log  *output
	once sync.Once
}

// StartProcess runs the binary on the test database and waits until it is ready. It
// kills the process when the test ends.
func (e *Env) StartProcess(t testing.TB, binary string, settings ...string) *Process {
	t.Helper()
	p := e.StartWaiting(t, binary, settings...)
	p.AwaitReady(t)
	return p
}

// StartWaiting is [Env.StartProcess] for a process that need not be ready.
func (e *Env) StartWaiting(t testing.TB, binary string, settings ...string) *Process {
	t.Helper()
	addr := FreeAddr(t)
	for _, setting := range settings {
		if own, found := strings.CutPrefix(setting, "ORDERS_ADDR="); found {
			addr = own
		}
	}
	p := &Process{URL: "http://" + addr}
	p.cmd = exec.CommandContext(t.Context(), binary, "serve")
	p.cmd.Env = e.Environ(t, append([]string{"ORDERS_ADDR=" + addr}, settings...)...)
	p.log = startWithOutput(t, p.cmd)
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("the log of the process:\n%s", p.Log())
		}
	})
	return p
}

// AwaitReady waits until the process is ready.
func (p *Process) AwaitReady(t testing.TB) {
	t.Helper()
	Eventually(t, "the process is ready", func() bool { return p.IsOK("/health/ready") })
}

// IsOK reports whether the process answers a path with 200.
func (p *Process) IsOK(path string) bool { return IsOK(p.URL + path) }

// IsOK reports whether a URL answers with 200.
func IsOK(url string) bool { return isOK(http.DefaultClient, url) }

// Log returns the output so far.
func (p *Process) Log() string { return p.log.String() }

// ServiceOf returns a process as a service, for sending calls.
func (e *Env) ServiceOf(p *Process) *Service { return &Service{Env: e, URL: p.URL} }

// Kill ends the process at once (SIGKILL), before any cleanup.
func (p *Process) Kill() {
	p.once.Do(func() {
		_ = p.cmd.Process.Kill() // it may be gone already
		_ = p.wait()             // the error is that it was killed
	})
}

// wait waits until the process has ended and the output is read.
func (p *Process) wait() error {
	err := p.cmd.Wait()
	p.log.awaitEnd()
	return err
}

// Signal sends a signal to the process.
func (p *Process) Signal(t testing.TB, signal syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// Pause stops the process (SIGSTOP) and returns when all threads have stopped.
func (p *Process) Pause(t testing.TB) {
	t.Helper()
	p.Signal(t, syscall.SIGSTOP)
	Eventually(t, "the process is stopped", func() bool {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.cmd.Process.Pid))
		if err != nil || len(threads) == 0 {
			t.Fatalf("whether a process is stopped is known on Linux only: %v", err)
		}
		return !slices.ContainsFunc(threads, isRunning)
	})
}

// Resume lets a stopped process go on, unless it has ended.
func (p *Process) Resume() { _ = p.cmd.Process.Signal(syscall.SIGCONT) }

// isRunning reports whether the thread with this /proc file is not stopped. A thread
// that has ended has no file.
func isRunning(stat string) bool {
	text, err := os.ReadFile(stat)
	_, state, _ := bytes.Cut(text, []byte(") "))
	return err == nil && !bytes.HasPrefix(state, []byte("T"))
}

// Terminate asks the process to stop (SIGTERM) and returns a channel that reports its
// end.
func (p *Process) Terminate(t testing.TB) <-chan error {
	t.Helper()
	p.Signal(t, syscall.SIGTERM)
	return p.Ended()
}

// Ended returns a channel that reports the end of the process.
func (p *Process) Ended() <-chan error {
	ended := make(chan error, 1)
	go p.once.Do(func() { ended <- p.wait() })
	return ended
}

// WantEnd waits for the end after a request to stop. The process must succeed.
func (p *Process) WantEnd(t testing.TB, ended <-chan error, timeout time.Duration) {
	t.Helper()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("the process ended with %v", err)
		}
	case <-time.After(timeout):
		_ = p.cmd.Process.Kill()
		t.Errorf("the process still ran after %v", timeout)
	}
}

// FreeAddr returns an address where no listener is.
func FreeAddr(t testing.TB) string {
	t.Helper()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(testport.Free(t)))
}

// Figure is a number that the admin listener reports.
type Figure struct {
	path    string
	pattern *regexp.Regexp
}

var (
	// Goroutines counts goroutines.
	Goroutines = Figure{"/debug/pprof/goroutine?debug=1", regexp.MustCompile(`goroutine profile: total ([0-9]+)`)}
	// LiveHeap is the heap size in bytes, after a garbage collection.
	LiveHeap = Figure{"/debug/pprof/heap?debug=1&gc=1", regexp.MustCompile(`# HeapAlloc = ([0-9]+)`)}
	// LimitedRequests counts requests beyond the per-minute limit.
	LimitedRequests = Figure{"/metrics", regexp.MustCompile(`(?m)^orders_limited_requests_total\{limit="requests"\} ([0-9]+)`)}
	// DroppedLines counts log lines that were lost.
	DroppedLines = Figure{"/metrics", regexp.MustCompile(`(?m)^orders_log_lines_dropped_total ([0-9]+)`)}
	// commandGroups counts transactions for waiting commands, and groupedCommands the
	// commands that ran in them.
	commandGroups   = Figure{"/metrics", regexp.MustCompile(`(?m)^orders_command_group_size_count ([0-9]+)`)}
	groupedCommands = Figure{"/metrics", regexp.MustCompile(`(?m)^orders_command_group_size_sum ([0-9]+)$`)}
)

// SharedTransactions counts the commands that ran in the transaction of a different command, as
// the process's admin listener reports it.
func SharedTransactions(t testing.TB, adminAddr string) int {
	t.Helper()
	return groupedCommands.Read(t, adminAddr) - commandGroups.Read(t, adminAddr)
}

// Read reads the figure from the admin listener of a process.
func (f Figure) Read(t testing.TB, adminAddr string) int {
	t.Helper()
	_, body := Fetch(t, "http://"+adminAddr+f.path)
	found := f.pattern.FindStringSubmatch(body)
	if found == nil {
		t.Fatalf("%s: no figure in %.200s", f.path, body)
	}
	n, err := strconv.Atoi(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// orders and ordersDev build their commands once for each package: go build reads the state
// of all source files, also of those that it does not compile again.
var (
	orders    = sync.OnceValues(func() (string, error) { return build("./cmd/orders") })
	ordersDev = sync.OnceValues(func() (string, error) { return build("./cmd/orders-dev") })
)

// BuildOrders builds cmd/orders and returns the path of the binary.
func BuildOrders(t testing.TB) (path string) {
	t.Helper()
	return must(t, orders)
}

// BuildOrdersDev builds cmd/orders-dev and returns the path of the binary.
func BuildOrdersDev(t testing.TB) (path string) {
	t.Helper()
	return must(t, ordersDev)
}

func must(t testing.TB, build func() (string, error)) (path string) {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// build builds a command into bin/. The packages of a test run share the binary: while it
// is up to date, go build does not link it again. The lock lets one package build at a time.
func build(command string) (path string, err error) {
	dir, err := productDir()
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "bin", "test", filepath.Base(command))
	unlock, err := lock(path + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	//nolint:noctx // the tests that wait for it share the binary
	cmd := exec.Command("go", "build", "-o", path, command)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return path, nil
}

// lock waits for a file that one process at a time holds.
func lock(path string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX)
	}
	return func() { _ = file.Close() }, err // closing unlocks
}

// productDir returns the product folder, also for tests in other modules.
func productDir() (string, error) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "example.com/orders").Output() //nolint:noctx // see build
	return strings.TrimSpace(string(dir)), err
}
