package faults

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.com/orders/internal/test/history"
)

// reportAtEnd prints what the run was when the test ends, and how it is run again if it has
// failed: again are the settings of `make faults`. The history is kept in a file then.
func reportAtEnd(t testing.TB, plan fmt.Stringer, again string, s *System) {
	t.Helper()
	t.Cleanup(func() {
		t.Logf("%s: %s", plan, &s.Counters)
		if !t.Failed() {
			return
		}
		t.Logf("commit %s; run it again with: make faults %s", commit(), again)
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
