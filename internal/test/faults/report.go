package faults

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.com/orders/internal/test/history"
)

// reportAtEnd prints what the run was when the test ends. The history of a failed run is
// kept in a file.
func reportAtEnd(t testing.TB, p Plan, s *System) {
	t.Helper()
	t.Cleanup(func() {
		t.Logf("%s: %s", p, &s.Counters)
		if !t.Failed() {
			return
		}
		t.Logf("commit %s; run it again with: make faults PLAN='%s'", commit(), p)
		if path, err := keepHistory(s.History.Attempts()); err != nil {
			t.Errorf("the history is lost: %v", err)
		} else {
			t.Logf("the history is in %s", path)
		}
	})
}

// keepHistory writes a history to a file that outlives the test, and returns its path.
func keepHistory(attempts []history.Attempt) (path string, err error) {
	dir, err := os.MkdirTemp("", "faults-") // the person who reads it removes it
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

// commit returns the commit that the test was built from, as far as it is known.
func commit() string {
	if out, err := exec.CommandContext(context.Background(), "git", "rev-parse", "--short", "HEAD").Output(); err == nil {
		return strings.TrimSpace(string(out))
	}
	return "unknown"
}
