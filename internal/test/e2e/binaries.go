package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// binaries are built once for all tests that run at the same time.
var binaries = struct {
	sync.Mutex
	byName map[string]*binary
}{byName: map[string]*binary{}}

type binary struct {
	path  string
	users int
}

// BuildOrders builds cmd/orders and returns the path of the binary.
func BuildOrders(t testing.TB) (path string) {
	t.Helper()
	return build(t, "orders")
}

// BuildOrdersDev builds cmd/orders-dev and returns the path of the binary.
func BuildOrdersDev(t testing.TB) (path string) {
	t.Helper()
	return build(t, "orders-dev")
}

func build(t testing.TB, name string) (path string) {
	t.Helper()
	binaries.Lock()
	defer binaries.Unlock()
	b := binaries.byName[name]
	if b == nil {
		b = &binary{path: filepath.Join(makeTempDir(t), name)}
		cmd := exec.CommandContext(t.Context(), "go", "build", "-o", b.path, "./cmd/"+name)
		cmd.Dir = productDir(t)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", cmd, err, out)
		}
		binaries.byName[name] = b
	}
	b.users++
	t.Cleanup(func() { release(name) })
	return b.path
}

// productDir returns the product's folder, also for tests in other modules.
func productDir(t testing.TB) string {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "example.com/orders").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(dir))
}

func release(name string) {
	binaries.Lock()
	defer binaries.Unlock()
	b := binaries.byName[name]
	b.users--
	if b.users == 0 {
		_ = os.RemoveAll(filepath.Dir(b.path)) // a file left in the temporary directory does no harm
		delete(binaries.byName, name)
	}
}

// makeTempDir makes a directory that may outlive the test.
func makeTempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "orders-e2e-") //nolint:usetesting // other tests also use the binary
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
