package world

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"example.com/orders/lab/overlay"
	"example.com/orders/migrations"
)

// root is the repository root, relative to each package of the fault run.
const root = "../../.."

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

// command runs a program in a folder.
func command(t testing.TB, dir, program string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}

// BuildAt builds the service at a commit.
func BuildAt(t testing.TB, commit string) (binary string) {
	t.Helper()
	dir := t.TempDir()
	archive := filepath.Join(dir, "source.tar")
	command(t, root, "git", "archive", "--output="+archive, commit)
	command(t, dir, "tar", "-xf", archive)
	return build(t, dir)
}

// Migration is a step of a next version's schema. One without Down cannot be undone.
type Migration struct{ Up, Down string }

// BuildNext builds the service's next version, whose migrations follow the newest one.
func BuildNext(t testing.TB, next []Migration, flags ...string) (binary string) {
	t.Helper()
	newest, err := migrations.Newest()
	if err != nil {
		t.Fatal(err)
	}
	var edits []overlay.Edit
	for i, m := range next {
		for direction, sql := range map[string]string{"up": m.Up, "down": m.Down} {
			if sql != "" {
				file := fmt.Sprintf("%04d_next.%s.sql", int(newest)+i+1, direction)
				edits = append(edits, overlay.Edit{File: filepath.Join(root, "migrations", file), After: sql})
			}
		}
	}
	description, err := overlay.Write(t.TempDir(), edits...)
	if err != nil {
		t.Fatal(err)
	}
	return build(t, root, append(flags, "-overlay="+description)...)
}
