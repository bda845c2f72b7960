package world

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	devpostgres "example.com/orders/internal/dev/postgres"
	pgtest "example.com/orders/internal/test/pg"
)

// fakeTimeLibrary is the library's path in Debian's package libfaketime.
const fakeTimeLibrary = "/usr/lib/*/faketime/libfaketime.so.1"

// Clock is a PostgreSQL server's clock. It cannot move the replicas' clocks, because Go
// programs do not ask the C library for the time. So only the database clock differs.
type Clock struct{ file string }

// startClockServer starts a server with a movable clock.
func startClockServer(t testing.TB) (*devpostgres.Server, *Clock) {
	t.Helper()
	library, err := filepath.Glob(fakeTimeLibrary)
	if err != nil || len(library) == 0 {
		t.Skip("NOT CHECKED: libfaketime is not installed; lab/need clock installs it")
	}
	// The server's user reads the file and cannot enter a test directory.
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
		"LD_PRELOAD=" + library[0], "FAKETIME_TIMESTAMP_FILE=" + clock.file,
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

// Move sets the server's clock ahead of ours.
func (c *Clock) Move(t testing.TB, ahead time.Duration) {
	t.Helper()
	next := c.file + ".next"
	if err := os.WriteFile(next, []byte(fmt.Sprintf("%+ds\n", int(ahead.Seconds()))), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, c.file); err != nil { // atomic for readers
		t.Fatal(err)
	}
}

// OnMovableClock moves the system to a server with a movable clock.
func OnMovableClock(t testing.TB, s *System) {
	t.Helper()
	s.Server, s.Clock = startClockServer(t)
	s.DatabaseURL = pgtest.NewOn(t, s.Server)
}
