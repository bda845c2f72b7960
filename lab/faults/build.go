package faults

import (
	"os/exec"
	"path/filepath"
	"testing"

	"example.com/orders/lab/overlay"
)

// root is the repository root, relative to this package.
const root = "../.."

// grouped is the build flag that makes commands share transactions even under a light
// load: each waits until a free lane has gathered commands for a few milliseconds.
const grouped = "-ldflags=-X=example.com/orders/internal/adapters/out/postgres/lanes.gatherFirst=3ms"

// build builds the service and returns the binary's path.
func build(t testing.TB, dir string, flags ...string) (binary string) {
	t.Helper()
	binary = filepath.Join(t.TempDir(), "orders")
	args := append([]string{"build", "-o", binary}, flags...)
	command(t, dir, "go", append(args, "./cmd/orders")...)
	return binary
}

// withMigrations returns the build flag that adds files to the migrations.
func withMigrations(t testing.TB, files map[string]string) (flag string) {
	t.Helper()
	var edits []overlay.Edit
	for name, sql := range files {
		edits = append(edits, overlay.Edit{File: filepath.Join(root, "migrations", name), After: sql})
	}
	description, err := overlay.Write(t.TempDir(), edits...)
	if err != nil {
		t.Fatal(err)
	}
	return "-overlay=" + description
}

// command runs a program in a folder.
func command(t testing.TB, dir, program string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}
