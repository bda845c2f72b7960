package faults

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	devpostgres "example.com/orders/internal/dev/postgres"
)

// fakeTimeLibrary is where Debian's package libfaketime is.
const fakeTimeLibrary = "/usr/lib/*/faketime/libfaketime.so.1"

// Clock is the clock of a PostgreSQL server. It does nothing to the replicas: programs in Go
// do not ask the C library for the time. So it is the clock of the database that differs.
type Clock struct{ file string }

// fakeTime returns the path of the library. It installs Debian's package.
var fakeTime = sync.OnceValues(func() (string, error) {
	if found, err := filepath.Glob(fakeTimeLibrary); err == nil && len(found) > 0 {
		return found[0], nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil || os.Geteuid() != 0 {
		return "", errors.New("libfaketime is not installed (Debian: sudo apt-get install faketime)")
	}
	_, _ = fmt.Fprintln(os.Stderr, "libfaketime is not installed: running apt-get install -y faketime")
	install := exec.Command("apt-get", "install", "-y", "faketime")
	install.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if out, err := install.CombinedOutput(); err != nil {
		return "", fmt.Errorf("apt-get install faketime: %w: %s", err, out)
	}
	found, err := filepath.Glob(fakeTimeLibrary)
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("no %s", fakeTimeLibrary)
	}
	return found[0], nil
})

// startClockServer starts a server whose clock can be moved while it runs.
func startClockServer(t testing.TB) (*devpostgres.Server, *Clock) {
	t.Helper()
	library, err := fakeTime()
	if err != nil {
		t.Skipf("NOT RUN: %v", err)
	}
	// The user of the server reads the file, and cannot enter a directory of the test.
	dir, err := os.MkdirTemp("/tmp", "orders-clock-") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })  // a file left there does no harm
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // the offset of a clock is no secret
		t.Fatal(err)
	}
	clock := &Clock{filepath.Join(dir, "offset")}
	clock.Move(t, 0)
	server, err := devpostgres.Start(t.Context(), devpostgres.Config{Notices: os.Stderr, Environ: []string{
		"LD_PRELOAD=" + library, "FAKETIME_TIMESTAMP_FILE=" + clock.file,
		"FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1",
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return server, clock
}

// Move sets how far the server's clock is ahead of ours.
func (c *Clock) Move(t testing.TB, ahead time.Duration) {
	t.Helper()
	next := c.file + ".next"
	if err := os.WriteFile(next, []byte(fmt.Sprintf("%+ds\n", int(ahead.Seconds()))), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, c.file); err != nil { // so that nobody reads half of it
		t.Fatal(err)
	}
}
