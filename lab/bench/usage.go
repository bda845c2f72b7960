package bench

import (
	"context"
	"fmt"
	"os"

	"github.com/prometheus/procfs"
)

// usage is the CPU time in seconds and the write-ahead log used so far.
type usage struct {
	service, postgres, load float64
	wal                     int64
}

func (t *target) usage(ctx context.Context) (u usage, err error) {
	var backend int
	err = t.DB.QueryRow(ctx, `SELECT pg_backend_pid(), (pg_current_wal_insert_lsn() - '0/0')::bigint`).Scan(&backend, &u.wal)
	if err != nil {
		return u, err
	}
	connection, err := statOf(backend)
	if err != nil {
		return u, err
	}
	if u.postgres, err = cpuWithChildren(connection.PPID); err != nil {
		return u, err
	}
	served, err := statOf(t.service.cmd.Process.Pid)
	if err != nil {
		return u, err
	}
	own, err := statOf(os.Getpid())
	u.service, u.load = served.CPUTime(), own.CPUTime()
	return u, err
}

func statOf(pid int) (procfs.ProcStat, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return procfs.ProcStat{}, err
	}
	return process.Stat()
}

// cpuWithChildren returns the CPU time for a process and its children, including children
// that have ended and that it has waited for. PostgreSQL runs one child process per
// connection.
func cpuWithChildren(pid int) (float64, error) {
	for {
		before, err := statOf(pid)
		if err != nil {
			return 0, err
		}
		total := cpuOf(before)
		processes, err := procfs.AllProcs()
		if err != nil {
			return 0, err
		}
		for _, process := range processes {
			if child, err := process.Stat(); err == nil && child.PPID == pid { // the rest have ended
				total += cpuOf(child)
			}
		}
		after, err := statOf(pid)
		if err != nil {
			return 0, err
		}
		// If a child ended in between, it may have been counted twice or not at all.
		if endedChildren(after) == endedChildren(before) {
			return total, nil
		}
	}
}

func cpuOf(stat procfs.ProcStat) float64 { return stat.CPUTime() + endedChildren(stat) }

// endedChildren returns the CPU time of children that have ended, in seconds. Linux
// counts in hundredths of a second on every system that Go supports.
func endedChildren(stat procfs.ProcStat) float64 { return float64(stat.CUTime+stat.CSTime) / 100 }

// resetPeakMemory resets the peak for peakMemory.
func resetPeakMemory(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}

// peakMemory returns the peak resident memory of a process since the last reset, in bytes.
func peakMemory(pid int) (uint64, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	status, err := process.NewStatus()
	return status.VmHWM, err
}
