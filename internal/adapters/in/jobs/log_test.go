package jobs_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	testwait "example.com/orders/internal/test/wait"
)

func TestRunner_LogsWhatARunRemoved(t *testing.T) {
	t.Parallel()
	left := []int{500, 500, 7}
	clean := &batches{run: func(context.Context, int) (int, error) {
		if len(left) == 0 {
			return 0, nil
		}
		n := left[0]
		left = left[1:]
		return n, nil
	}}
	runner, log := newRunner(t, newPool(t), &batches{}, clean, onlyAtStart)
	start(t, runner)
	testwait.Until(t, "the run has a line in the log", func() bool { return strings.Contains(log.String(), "\n") })
	var line struct {
		Level, Job, Message string
		Rows                int
	}
	if err := json.Unmarshal([]byte(log.String()), &line); err != nil {
		t.Fatalf("%v in the log, want one line: %s", err, log)
	}
	if line.Job != "clean_idempotency_records" || line.Rows != 1007 || line.Level != "info" || line.Message != "rows removed" {
		t.Errorf("the line is %+v", line)
	}
}
