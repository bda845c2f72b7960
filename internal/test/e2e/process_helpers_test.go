package e2e_test

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	testport "example.com/orders/internal/test/port"
)

// build builds a program of cmd once for all tests that run at the same time. The last
// of them removes it.
func build(t testing.TB, name string) (path string) {
	t.Helper()
	binaries.Lock()
	defer binaries.Unlock()
	b := binaries.of[name]
	if b == nil {
		b = &program{path: filepath.Join(makeTempDir(t), name)}
		cmd := exec.CommandContext(t.Context(), "go", "build", "-o", b.path, "example.com/orders/cmd/"+name)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", cmd, err, out)
		}
		binaries.of[name] = b
	}
	b.users++
	t.Cleanup(func() { release(name) })
	return b.path
}

// binaries are the programs that tests use now.
var binaries = struct {
	sync.Mutex
	of map[string]*program
}{of: map[string]*program{}}

type program struct {
	path  string
	users int
}

func release(name string) {
	binaries.Lock()
	defer binaries.Unlock()
	b := binaries.of[name]
	if b.users--; b.users == 0 {
		_ = os.RemoveAll(filepath.Dir(b.path)) // a file in the temporary directory is no failure
		delete(binaries.of, name)
	}
}

// makeTempDir makes a directory that may outlive the test.
func makeTempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "orders-e2e-") //nolint:usetesting // other tests use the binary, too
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func buildOrders(t testing.TB) (path string) {
	t.Helper()
	return build(t, "orders")
}

func buildDev(t testing.TB) (path string) {
	t.Helper()
	return build(t, "orders-dev")
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
	p.cmd.Env = w.environ(append([]string{"ORDERS_ADDR=" + addr}, settings...)...)
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
	eventually(w, "the process is ready", func() bool { return answersOK(p.url + "/health/ready") })
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
