package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// usage is the CPU time and write-ahead log used so far.
type usage struct {
	service, postgres, load time.Duration
	wal                     int64
}

func (t *target) usage(ctx context.Context) (usage, error) {
	u := usage{load: cpuOfSelf()}
	var err error
	if u.service, err = cpuOf(t.service.cmd.Process.Pid); err != nil {
		return u, err
	}
	if u.postgres, err = cpuOf(t.cluster.pid); err != nil {
		return u, err
	}
	err = t.db.QueryRow(ctx, `SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint`).Scan(&u.wal)
	return u, err
}

// ticksPerSecond is USER_HZ, the time unit in /proc. It is 100 on every Linux that Go
// supports.
const ticksPerSecond = 100

// cpuOf returns the CPU time for a process and its children, including children that
// have ended and that it has waited for. PostgreSQL runs one child process per
// connection.
func cpuOf(pid int) (time.Duration, error) {
	for {
		before, err := readStat(pid)
		if err != nil {
			return 0, err
		}
		ticks := before.own + before.endedChildren + ticksOfChildren(pid)
		after, err := readStat(pid)
		if err != nil {
			return 0, err
		}
		// If a child ended in between, it may have been counted twice or not at all.
		if after.endedChildren == before.endedChildren {
			return time.Duration(ticks) * time.Second / ticksPerSecond, nil
		}
	}
}

func ticksOfChildren(pid int) int64 {
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // fails only for an invalid pattern
	var ticks int64
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the process has ended
		}
		if child, err := parseStat(text); err == nil && child.parent == pid {
			ticks += child.own + child.endedChildren
		}
	}
	return ticks
}

// stat contains the fields in /proc/<pid>/stat that the benchmark uses.
type stat struct {
	parent             int
	own, endedChildren int64 // ticks
}

func readStat(pid int) (stat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, fmt.Errorf("read CPU time: %w", err)
	}
	return parseStat(text)
}

// parseStat parses the fields after the command's name. The name is in parentheses and
// may itself contain spaces and parentheses.
func parseStat(text []byte) (stat, error) {
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 15 {
		return stat{}, fmt.Errorf("parse /proc/<pid>/stat: %q", text)
	}
	numbers := make([]int64, 5)
	for i, at := range []int{1, 11, 12, 13, 14} { // ppid, utime, stime, cutime, cstime
		n, err := strconv.ParseInt(fields[at], 10, 64)
		if err != nil {
			return stat{}, fmt.Errorf("parse /proc/<pid>/stat: %w", err)
		}
		numbers[i] = n
	}
	return stat{int(numbers[0]), numbers[1] + numbers[2], numbers[3] + numbers[4]}, nil
}

// cpuOfSelf returns the CPU time of this process, which is the load generator.
func cpuOfSelf() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// resetPeakMemory resets the peak for peakMemory.
func resetPeakMemory(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}

// peakMemory returns a process's peak resident memory since the last reset, in bytes.
func peakMemory(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, peak, _ := strings.Cut(string(text), "VmHWM:")
	var kib int64
	if _, err := fmt.Sscanf(peak, "%d kB", &kib); err != nil {
		return 0, fmt.Errorf("read peak memory: %w", err)
	}
	return kib << 10, nil
}
