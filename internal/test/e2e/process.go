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
	log  *Buffer
	once sync.Once
}

// StartProcess runs the binary on the database of the test and waits until it is ready.
// A process that still runs at the end of the test is killed.
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
	p := &Process{URL: "http://" + addr, log: &Buffer{}}
	p.cmd = exec.CommandContext(t.Context(), binary, "serve")
	p.cmd.Env = e.Environ(t, append([]string{"ORDERS_ADDR=" + addr}, settings...)...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("the log of the process:\n%s", p.log)
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
func (p *Process) IsOK(path string) bool { return isOK(http.DefaultClient, p.URL+path) }

// Log returns what the process has written so far.
func (p *Process) Log() string { return p.log.String() }

// ServiceOf returns a process as a service that calls can be sent to.
func (e *Env) ServiceOf(p *Process) *Service { return &Service{Env: e, URL: p.URL} }

// Kill ends the process at once (SIGKILL): nothing of it cleans up.
func (p *Process) Kill() {
	p.once.Do(func() {
		_ = p.cmd.Process.Kill() // it may be gone already
		_ = p.cmd.Wait()         // the error is that it was killed
	})
}

// Signal sends a signal to the process.
func (p *Process) Signal(t testing.TB, signal syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// Pause stops the process (SIGSTOP), and returns when all of its threads have stopped.
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

// isRunning reports whether the thread with this file of /proc is not stopped. A thread that
// has ended has no file.
func isRunning(stat string) bool {
	text, err := os.ReadFile(stat)
	_, state, _ := bytes.Cut(text, []byte(") "))
	return err == nil && !bytes.HasPrefix(state, []byte("T"))
}

// Terminate asks the process to stop (SIGTERM), and returns where its end is reported.
func (p *Process) Terminate(t testing.TB) <-chan error {
	t.Helper()
	p.Signal(t, syscall.SIGTERM)
	return p.Ended()
}

// Ended returns where the end of the process is reported.
func (p *Process) Ended() <-chan error {
	ended := make(chan error, 1)
	go p.once.Do(func() { ended <- p.cmd.Wait() })
	return ended
}

// WantEnd waits for the end of a process that was asked to stop. It must be a success.
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

// FreeAddr returns an address on which nobody listens.
func FreeAddr(t testing.TB) string {
	t.Helper()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(testport.Free(t)))
}

// Buffer can be read while a process or a service writes to it.
type Buffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

// Write appends to the buffer.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

// String returns what has been written so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

// Figure is a number that the admin listener of a process reports.
type Figure struct {
	path    string
	pattern *regexp.Regexp
}

var (
	// Goroutines is the number of goroutines.
	Goroutines = Figure{"/debug/pprof/goroutine?debug=1", regexp.MustCompile(`goroutine profile: total ([0-9]+)`)}
	// LiveHeap is the size of the heap in bytes, after a collection.
	LiveHeap = Figure{"/debug/pprof/heap?debug=1&gc=1", regexp.MustCompile(`# HeapAlloc = ([0-9]+)`)}
	// RejectedWebhooks is the number of signed webhooks that were not applied.
	RejectedWebhooks = Figure{"/metrics", regexp.MustCompile(`(?m)^orders_webhooks_total\{outcome="rejected"\} ([0-9]+)`)}
	// LimitedRequests is the number of requests beyond the limit of requests per minute.
	LimitedRequests = Figure{"/metrics", regexp.MustCompile(`(?m)^orders_limited_requests_total\{limit="requests"\} ([0-9]+)`)}
	// commandGroups is the number of transactions for commands that had waited, and
	// groupedCommands is how many commands ran in them.
	commandGroups   = Figure{"/metrics", regexp.MustCompile(`(?m)^orders_command_group_size_count ([0-9]+)`)}
	groupedCommands = Figure{"/metrics", regexp.MustCompile(`(?m)^orders_command_group_size_sum ([0-9]+)$`)}
)

// SharedTransactions counts the commands that ran in the transaction of another one, by the
// admin listener of a process.
func SharedTransactions(t testing.TB, adminAddr string) int {
	t.Helper()
	return groupedCommands.Read(t, adminAddr) - commandGroups.Read(t, adminAddr)
}

// Read asks the admin listener of a process for the figure.
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
