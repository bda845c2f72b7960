//go:build cluster

package rolling

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"example.com/orders/internal/test/overlay"
	"example.com/orders/migrations"
)

// root is the folder of the repository.
const root = "../../.."

// The migrations of the next version expand the schema, and those of the version after it
// contract it. Rows from before have no channel; a back-fill between the two sets it.
var (
	expansion = []string{
		"ALTER TABLE orders ADD COLUMN channel text;\nALTER TABLE orders ALTER COLUMN channel SET DEFAULT 'shop';\n",
		"CREATE INDEX CONCURRENTLY orders_of_channel ON orders (channel, id) WHERE channel >= '';\n",
	}
	contraction = []string{
		"-- accepts: channel_is_set, it is by default\n" +
			"ALTER TABLE orders ADD CONSTRAINT channel_is_set CHECK (channel IS NOT NULL) NOT VALID;\n",
		"ALTER TABLE orders VALIDATE CONSTRAINT channel_is_set;\n",
		"-- contracts: orders.channel, always set since the version before\n" +
			"ALTER TABLE orders ALTER COLUMN channel SET NOT NULL, DROP CONSTRAINT channel_is_set;\n",
	}
)

// backfill sets the channel of a batch of rows, and skips those that commands have locked.
const backfill = `UPDATE orders SET channel = 'shop' WHERE id IN (
	SELECT id FROM orders WHERE channel IS NULL ORDER BY id LIMIT 100 FOR UPDATE SKIP LOCKED)`

// buildNext builds this version with more migrations.
func buildNext(t *testing.T, name string, added []string) (binary string) {
	t.Helper()
	newest, err := migrations.Newest()
	if err != nil {
		t.Fatal(err)
	}
	var edits []overlay.Edit
	for i, up := range added {
		file := fmt.Sprintf("%s/migrations/%04d_rolling.up.sql", root, int(newest)+i+1)
		edits = append(edits, overlay.Edit{File: file, After: up})
	}
	description, err := overlay.Write(t.TempDir(), edits...)
	if err != nil {
		t.Fatal(err)
	}
	return build(t, root, name, "./cmd/orders", "-overlay="+description)
}

// buildAt builds the version of a commit.
func buildAt(t *testing.T, ref string) (binary string) {
	t.Helper()
	dir := t.TempDir()
	archive := filepath.Join(dir, "source.tar")
	runIn(t, root, "git", "archive", "--output="+archive, ref)
	runIn(t, dir, "tar", "-xf", archive)
	return build(t, dir, "before", "./cmd/orders")
}

// build builds a program in a folder that the nodes of the cluster copy it from.
func build(t *testing.T, dir, name, program string, flags ...string) (binary string) {
	t.Helper()
	binary = filepath.Join(t.TempDir(), name)
	args := append([]string{"build", "-o", binary}, flags...)
	runIn(t, dir, "go", append(args, program)...)
	return binary
}

func runIn(t *testing.T, dir, program string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir, cmd.Env = dir, os.Environ()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}
