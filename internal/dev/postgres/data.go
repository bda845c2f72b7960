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

// sharedTemp is reachable by every user and, unlike /tmp, kept over a reboot.
const sharedTemp = "/var/tmp"

// lockPatience is how long a server whose parent has just been killed may still hold the data directory.
const lockPatience = time.Second

// placeData returns the directory for the data: wanted itself, or what it links to.
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
	return linkToShared(wanted, acc)
}

// reaches asks the kernel, which also knows of access lists and mounts, by starting a process there.
func (a account) reaches(ctx context.Context, dir string) bool {
	if !a.switched {
		return true
	}
	probe := exec.CommandContext(ctx, "true")
	probe.Dir = dir
	probe.SysProcAttr = a.attributes()
	return probe.Run() == nil
}

// linkToShared makes a new directory where everybody can reach it. Its name is new each time: whoever removes the
// link starts with an empty cluster.
func linkToShared(wanted string, acc account) (string, error) {
	// An empty directory may stand there; anything else is not ours to replace.
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

// makeShared makes the directory that a link names, if it has gone, and refuses one that somebody else made.
func makeShared(dir string, acc account) error {
	if err := os.Mkdir(dir, 0o700); err == nil {
		return acc.own(dir)
	} else if !errors.Is(err, os.ErrExist) {
		return err
	}
	return acc.checkOwner(dir)
}

// releaseStaleLock returns an error when a live server uses the data directory. PostgreSQL itself ignores the lock file
// of a process that is gone, but takes any process that got the same number since for a server: after a restart of a
// container that is the rule rather than the exception, so such a file is removed here.
func releaseStaleLock(ctx context.Context, dataDir string) error {
	deadline, cancel := context.WithTimeout(ctx, lockPatience)
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

// lockHolder returns the process named in the lock file if there is one with that number that we may signal.
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

// isServerOf reports whether a process is the server on a data directory, which is then its working directory. Where
// the system does not tell, it is believed to be.
func isServerOf(pid int, dataDir string) bool {
	cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	if err != nil {
		return true
	}
	resolved, err := filepath.EvalSymlinks(dataDir)
	return err != nil || cwd == resolved
}
