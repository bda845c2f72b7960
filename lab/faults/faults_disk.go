package faults

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	devpostgres "example.com/orders/internal/dev/postgres"
	"example.com/orders/internal/test/e2e"
	testlog "example.com/orders/internal/test/log"
	pgtest "example.com/orders/internal/test/pg"
)

// diskFaults are full disks. They need a mount and therefore root.
var diskFaults = []Fault{
	{
		Name: "full-disk", Number: "F9", Strikes: 2, Needs: Needs{Database: dataOnSmallDisk}, Strike: fillDisk,
		Proof: []string{"disks filled", "errors of a full disk", unavailableResponses, "reads from a full disk"},
	},
	{
		Name: "full-wal-disk", Number: "F9", Strikes: 2, Needs: Needs{Database: walOnSmallDisk}, Strike: fillWALDisk,
		Proof: []string{"disks filled", "panics of a full disk", unavailableResponses},
	},
}

// smallDisk is a 64 MB file system for a server.
type smallDisk struct {
	dir string
	// log is the server's log.
	log testlog.Buffer
}

// dataOnSmallDisk moves the system to a server with its data, but not its WAL, on a
// small disk.
func dataOnSmallDisk(t testing.TB, s *System) {
	t.Helper()
	wal := filepath.Join(reachableDir(t), "wal")
	s.useSmallDisk(t, func(disk string) devpostgres.Config {
		return devpostgres.Config{DataDir: filepath.Join(disk, "data"), WALDir: wal}
	})
}

// walOnSmallDisk moves the system to a server with its WAL on a small disk.
func walOnSmallDisk(t testing.TB, s *System) {
	t.Helper()
	s.useSmallDisk(t, func(disk string) devpostgres.Config {
		return devpostgres.Config{
			WALDir: filepath.Join(disk, "wal"), Settings: map[string]string{"min_wal_size": "32MB", "max_wal_size": "32MB"},
		}
	})
}

func (s *System) useSmallDisk(t testing.TB, configure func(disk string) devpostgres.Config) {
	t.Helper()
	s.Disk = &smallDisk{dir: mountSmallDisk(t)}
	cfg := configure(s.Disk.dir)
	cfg.Log = &s.Disk.log
	s.Server = pgtest.StartCluster(t, cfg)
	s.DatabaseURL = pgtest.NewOn(t, s.Server)
}

// mountSmallDisk mounts a 64 MB file system until the test ends.
func mountSmallDisk(t testing.TB) (dir string) {
	t.Helper()
	dir = reachableDir(t)
	if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size=64m,mode=0777", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("NOT RUN: a small disk needs a mount: run this fault as root on Linux: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil { //nolint:noctx // the test's context has ended
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	return dir
}

// reachableDir makes a directory that is writable for the server's user.
func reachableDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "orders-disk-") //nolint:usetesting // TempDir is closed to others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })  // a file left in the temporary directory does no harm
	if err := os.Chmod(dir, 0o777); err != nil { //nolint:gosec // the user of the server has another name on each system
		t.Fatal(err)
	}
	return dir
}

// fill writes a file until the disk is full. release removes it.
func (d *smallDisk) fill(t testing.TB) (release func()) {
	t.Helper()
	name := filepath.Join(d.dir, "filler")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = file.Write(make([]byte, 4096))
	}
	if closed := file.Close(); !errors.Is(err, syscall.ENOSPC) || closed != nil {
		t.Fatal(err, closed)
	}
	return func() {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
}

// logged counts server log lines that contain a text.
func (d *smallDisk) logged(text string) int { return strings.Count(d.log.String(), text) }

const noSpace = "No space left on device"

// fillDisk fills the data disk until the server refuses writes. Reads go on meanwhile.
func fillDisk(t testing.TB, s *System, random *rand.Rand) {
	t.Helper()
	before := s.Disk.logged(noSpace)
	release := s.Disk.fill(t)
	s.Counters.Add("disks filled", 1)
	s.Counters.awaitMore(t, unavailableResponses, 1+random.IntN(20))
	for _, r := range s.Replicas {
		s.wantRead(t, r, "reads from a full disk")
	}
	s.Counters.Add("errors of a full disk", s.Disk.logged(noSpace)-before)
	release()
}

// fillWALDisk fills the WAL disk until the server panics, and restarts it after
// release.
func fillWALDisk(t testing.TB, s *System, _ *rand.Rand) {
	t.Helper()
	before := s.Disk.logged("PANIC")
	release := s.Disk.fill(t)
	s.Counters.Add("disks filled", 1)
	e2e.Eventually(t, "the server panics", func() bool {
		// The clients alone would need minutes to fill a segment (16 MB). This fails
		// when the server panics.
		_, _ = s.DB.Exec(t.Context(), `SELECT pg_switch_wal()`)
		return s.Disk.logged("PANIC") > before
	})
	s.Counters.Add("panics of a full disk", s.Disk.logged("PANIC")-before)
	s.Counters.awaitMore(t, unavailableResponses, 1)
	release()
	s.restartServer(t)
}
