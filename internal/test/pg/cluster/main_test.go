package main

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	pgtest "example.com/orders/internal/test/pg"
)

func TestRunCommand_ReturnsTheExitCode(t *testing.T) {
	tests := map[string]int{"exit 0": 0, "exit 7": 7, "kill -9 $$": 1}
	for script, want := range tests {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			code, err := runCommand(t.Context(), "postgres://unused", []string{"sh", "-c", script})
			if code != want {
				t.Errorf("code = %d, err = %v; want %d", code, err, want)
			}
		})
	}
}

func TestRun_SetsTheURLOfTheCluster(t *testing.T) {
	code, err := run(t.Context(), []string{"sh", "-c", `case "$` + pgtest.URLVariable + `" in postgres://*) exit 0; esac; exit 3`})
	if code != 0 || err != nil {
		t.Errorf("code = %d, err = %v", code, err)
	}
}

func TestRun_RejectsAMissingCommand(t *testing.T) {
	if code, err := run(t.Context(), nil); code != 2 || err == nil {
		t.Errorf("code = %d, err = %v", code, err)
	}
	if code, err := runCommand(t.Context(), "postgres://unused", []string{"/no/such/program"}); code != 1 || err == nil {
		t.Errorf("code = %d, err = %v", code, err)
	}
}

// The command waits for a child of its own, as `go test` does.
func TestRunCommand_EndsTheWholeGroupWhenInterrupted(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "alive")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	codes := make(chan int, 1)
	go func() {
		code, _ := runCommand(ctx, "postgres://unused", []string{"sh", "-c", "sleep 60 > " + fifo + " & wait"})
		codes <- code
	}()
	alive, err := os.Open(fifo) // returns when the grandchild has opened the other end
	if err != nil {
		t.Fatal(err)
	}
	cancel()

	if code := <-codes; code != 1 {
		t.Errorf("code = %d, want 1", code)
	}
	ended := make(chan struct{})
	go func() { // Read returns when the grandchild has ended
		_, _ = alive.Read(make([]byte, 1))
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("the child of the command is still running")
	}
}
