package main

import (
	"bytes"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"example.com/orders/internal/testport"
)

// buildOrders builds the binary.
func buildOrders(t testing.TB) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "orders")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// process is a running `orders serve`.
type process struct {
	testing.TB
	url  string
	cmd  *exec.Cmd
	log  *lockedBuffer
	once sync.Once
}

// startProcess runs the binary against the world's database and waits until it is ready.
// A process that is still there at the end of the test is killed.
func (w *world) startProcess(binary string, settings ...string) *process {
	w.Helper()
	addr := freeAddr(w)
	p := &process{TB: w, url: "http://" + addr, log: &lockedBuffer{}}
	p.cmd = exec.CommandContext(w.Context(), binary, "serve")
	p.cmd.Env = w.environ(append([]string{"ORDERS_ADDR=" + addr, "ORDERS_ADMIN_ADDR=127.0.0.1:0"}, settings...)...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	if err := p.cmd.Start(); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		p.kill()
		if w.Failed() {
			w.Logf("the process said:\n%s", p.log)
		}
	})
	eventually(w, "the process is ready", func() bool {
		resp, err := http.Get(p.url + "/health/ready")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return p
}

// kill ends the process at once (SIGKILL): nothing of it gets to clean up.
func (p *process) kill() {
	p.once.Do(func() {
		_ = p.cmd.Process.Kill() // it may be gone already
		_ = p.cmd.Wait()         // the error is that it was killed
	})
}

// freeAddr finds a port that nobody listens on.
func freeAddr(t testing.TB) string {
	t.Helper()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(testport.Free(t)))
}

// lockedBuffer can be read while a process writes.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}
