package faults

import (
	"os/exec"
	"path/filepath"
	"testing"

	"example.com/orders/internal/test/overlay"
)

// root is the root of the repository, seen from this package.
const root = "../../.."

// buildEdited builds the service with edits and returns the path of the binary.
func buildEdited(t testing.TB, edits ...overlay.Edit) (binary string) {
	t.Helper()
	dir := t.TempDir()
	description, err := overlay.Write(dir, edits...)
	if err != nil {
		t.Fatal(err)
	}
	binary = filepath.Join(dir, "orders")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "example.com/orders/cmd/orders")
	build.Env = overlay.Environ(description)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, out)
	}
	return binary
}
