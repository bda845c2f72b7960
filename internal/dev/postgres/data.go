package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// sharedTemp is reachable by every user and, unlike /tmp, survives a reboot.
const sharedTemp = "/var/tmp"

// lockTimeout bounds the wait for a server whose parent was just killed: it may still
// hold the lock of the data directory.
const lockTimeout = time.Second

// placeData returns the data directory: wanted, or the link target.
func placeData(ctx context.Context, wanted string, acc account) (string, error) {
	wanted, err := filepath.Abs(wanted)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(wanted), 0o755); err != nil {
		return "", err
	}
	if target, err := os.Readlink(wanted); err == nil {
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(wanted), target)
		}
		return target, makeShared(target, acc)
	}
	if acc.reaches(ctx, filepath.Dir(wanted)) {
		return wanted, nil
	}
	if err := ctx.Err(); err != nil {
		return "", err // the probe was stopped and proves no fault
	}
	return linkToShared(wanted, acc)
}

// reaches reports whether the account can enter a directory. It starts a process there,
// because the kernel also considers access lists and mounts.
func (a account) reaches(ctx context.Context, dir string) bool {
	if !a.switched {
		return true
	}
	probe := exec.CommandContext(ctx, "true")
	probe.Dir = dir
	probe.SysProcAttr = a.attributes()
	return probe.Run() == nil
}

// linkToShared makes a shared directory and a link to it. Its name is new each time, so
// that a start after the link was removed is a first start.
func linkToShared(wanted string, acc account) (string, error) {
	// An empty directory may be replaced, anything else may not.
	if err := os.Remove(wanted); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("data directory %s cannot be reached by user %s: move it away, or start as its owner", wanted, acc.name)
	}
	target, err := os.MkdirTemp(sharedTemp, "orders-")
	if err != nil {
		return "", err
	}
	if err := acc.own(target); err != nil {
		return "", err
	}
	return target, os.Symlink(target, wanted)
}

// makeShared creates the target of the link if it is missing. It fails if the directory
// belongs to a different user.
func makeShared(dir string, acc account) error {
	if err := os.Mkdir(dir, 0o700); err == nil {
		return acc.own(dir)
	} else if !errors.Is(err, os.ErrExist) {
		return err
	}
	return acc.checkOwner(dir)
}

// releaseStaleLock returns an error if a running server uses the data directory. It
// removes a lock file whose process is another program. PostgreSQL ignores the lock of
// a dead process, but not if another process has reused its id, as is common after a
// container restart.
func releaseStaleLock(ctx context.Context, dataDir string) error {
	deadline, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	retry := time.NewTicker(20 * time.Millisecond)
	defer retry.Stop()
	for {
		pid, held := lockHolder(dataDir)
		if !held {
			return nil
		}
		if !isServerOf(pid, dataDir) {
			return os.Remove(lockFile(dataDir))
		}
		select {
		case <-deadline.Done():
			return fmt.Errorf("data directory %s is in use by a running PostgreSQL server (process %d)", dataDir, pid)
		case <-retry.C:
		}
	}
}

func lockFile(dataDir string) string { return filepath.Join(dataDir, "postmaster.pid") }

// lockHolder returns the process id in the lock file if we may signal it.
func lockHolder(dataDir string) (pid int, held bool) {
	text, err := os.ReadFile(lockFile(dataDir))
	if err != nil {
		return 0, false
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err = strconv.Atoi(strings.TrimSpace(first))
	if err != nil || pid <= 0 {
		return 0, false
	}
	return pid, syscall.Kill(pid, 0) == nil
}

// isServerOf reports whether a process is a data directory's server, which has it as
// working directory. Where the system hides that, the answer is yes.
func isServerOf(pid int, dataDir string) bool {
	cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	if err != nil {
		return true
	}
	resolved, err := filepath.EvalSymlinks(dataDir)
	return err != nil || cwd == resolved
}
