package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ticksPerSecond is the unit of times in /proc, USER_HZ: 100 on every Linux that Go
// runs on.
const ticksPerSecond = 100

// cpuOf gives the CPU time that a process and all of its children have used, those that
// have ended included, as long as it waited for them. That is how PostgreSQL works: one
// child a connection.
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
		// A child that ended meanwhile may have been counted in neither place, or in both.
		if after.endedChildren == before.endedChildren {
			return time.Duration(ticks) * time.Second / ticksPerSecond, nil
		}
	}
}

func ticksOfChildren(pid int) int64 {
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is a good one
	var ticks int64
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended meanwhile
		}
		if child, err := parseStat(text); err == nil && child.parent == pid {
			ticks += child.own + child.endedChildren
		}
	}
	return ticks
}

// stat is what is used of /proc/<pid>/stat.
type stat struct {
	parent             int
	own, endedChildren int64 // ticks
}

func readStat(pid int) (stat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, fmt.Errorf("CPU time is read from /proc: %w", err)
	}
	return parseStat(text)
}

// parseStat reads the fields behind the command, whose name may hold spaces and parentheses.
func parseStat(text []byte) (stat, error) {
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 15 {
		return stat{}, fmt.Errorf("not a line of /proc/<pid>/stat: %q", text)
	}
	numbers := make([]int64, 5)
	for i, at := range []int{1, 11, 12, 13, 14} { // ppid, utime, stime, cutime, cstime
		n, err := strconv.ParseInt(fields[at], 10, 64)
		if err != nil {
			return stat{}, fmt.Errorf("read /proc/<pid>/stat: %w", err)
		}
		numbers[i] = n
	}
	return stat{int(numbers[0]), numbers[1] + numbers[2], numbers[3] + numbers[4]}, nil
}

// cpuOfSelf gives the CPU time of this process, which is the load generator.
func cpuOfSelf() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// resetPeakMemory lets peakMemory begin anew.
func resetPeakMemory(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}

// peakMemory gives the most memory that a process has had at once since the last reset,
// in bytes.
func peakMemory(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	var kib int64
	if _, err := fmt.Sscanf(rest, "%d kB", &kib); err != nil {
		return 0, fmt.Errorf("read the peak of memory: %w", err)
	}
	return kib << 10, nil
}
