package world

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.com/orders/lab/history"
)

// ReportAtEnd prints the run's counters when the test ends. After a failure it also
// prints how to repeat the run, as target and settings for `make -C lab`, and keeps the
// history in a file.
func (s *System) ReportAtEnd(t testing.TB, again string) {
	t.Helper()
	t.Cleanup(func() {
		t.Logf("%s: %s", again, &s.Counters)
		if !t.Failed() {
			return
		}
		t.Logf("commit %s; run it again with: make -C lab %s", commit(), again)
		if path, err := keepHistory(s.History.Attempts()); err != nil {
			t.Errorf("the history is lost: %v", err)
		} else {
			t.Logf("the history is in %s", path)
		}
	})
}

// keepHistory writes a history to a file that outlives the test, and returns its path.
func keepHistory(attempts []history.Attempt) (path string, err error) {
	dir, err := os.MkdirTemp("", "faults-") // removed by its reader
	if err != nil {
		return "", err
	}
	file, err := os.Create(filepath.Join(dir, "history.jsonl"))
	if err != nil {
		return "", err
	}
	if err := history.Write(file, attempts); err != nil {
		return "", err
	}
	return file.Name(), file.Close()
}

// commit returns the test's commit, if known.
func commit() string {
	if out, err := exec.CommandContext(context.Background(), "git", "rev-parse", "--short", "HEAD").Output(); err == nil {
		return strings.TrimSpace(string(out))
	}
	return "unknown"
}
