package world

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	devpostgres "example.com/orders/internal/dev/postgres"
	testlog "example.com/orders/internal/test/log"
	pgtest "example.com/orders/internal/test/pg"
)

// Disk is a 64 MB file system for a server.
type Disk struct {
	dir string
	// log is the server's log.
	log testlog.Buffer
}

// DataOnSmallDisk moves the system to a server with its data, but not its WAL, on a
// small disk.
func DataOnSmallDisk(t testing.TB, s *System) {
	t.Helper()
	wal := filepath.Join(reachableDir(t), "wal")
	s.useSmallDisk(t, func(disk string) devpostgres.Config {
		return devpostgres.Config{DataDir: filepath.Join(disk, "data"), WALDir: wal}
	})
}

// WALOnSmallDisk moves the system to a server with its WAL on a small disk.
func WALOnSmallDisk(t testing.TB, s *System) {
	t.Helper()
	s.useSmallDisk(t, func(disk string) devpostgres.Config {
		return devpostgres.Config{
			WALDir: filepath.Join(disk, "wal"), Settings: map[string]string{"min_wal_size": "32MB", "max_wal_size": "32MB"},
		}
	})
}

func (s *System) useSmallDisk(t testing.TB, configure func(disk string) devpostgres.Config) {
	t.Helper()
	s.Disk = &Disk{dir: mountSmallDisk(t)}
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
		t.Skipf("NOT CHECKED: a small disk needs a mount: run this fault as root on Linux: %v: %s", err, out)
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

// Fill writes a file until the disk is full. release removes it.
func (d *Disk) Fill(t testing.TB) (release func()) {
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

// Logged counts server log lines that contain a text.
func (d *Disk) Logged(text string) int { return strings.Count(d.log.String(), text) }
