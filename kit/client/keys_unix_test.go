//go:build unix

package client

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"
)

// hang lets a store wait for ever when it reads the file of an operation, as a network folder
// does whose server is gone.
func hang(t *testing.T, s *FileStore, operation string, n int) {
	t.Helper()
	path := s.path(operation, n)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // ends the readers
		if end, err := os.OpenFile(path, os.O_RDWR, 0); err == nil {
			_ = end.Close()
		}
	})
}

func TestFileStore_WaitsNoLongerThanItsContext(t *testing.T) {
	s := newFileStore(t, t.TempDir())
	hang(t, s, "cart-1", 0)
	key := keyOf(t, s, "cart-2")
	hang(t, s, "cart-2", 1)
	for name, call := range map[string]func(context.Context) error{
		"Key":    func(ctx context.Context) error { _, err := s.Key(ctx, "cart-1"); return err },
		"Forget": func(ctx context.Context) error { return s.Forget(ctx, "cart-2", key+" of another process") },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: err = %v", name, err)
		}
		cancel()
	}
}

func TestCommand_ThatCannotReadItsKeyHasNoEffect(t *testing.T) {
	keys := newFileStore(t, t.TempDir())
	c, s := connect(t, Config{URL: "https://orders.test", Timeout: time.Millisecond}, keys, created)
	hang(t, keys, `https://orders.test "" "cart-1"`, 0)

	_, err := order(t.Context(), c, "cart-1")
	forgetErr := c.Forget(t.Context(), "cart-1")

	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, OutcomeUnknown) || len(s.sent) != 0 {
		t.Errorf("%d attempts, err = %v", len(s.sent), err)
	}
	if !errors.Is(forgetErr, context.DeadlineExceeded) {
		t.Errorf("forgetting: %v", forgetErr)
	}
}

// The name keeps its key, so that the next call gets the same refusal.
func TestForget_WaitsNoLongerThanTheCall(t *testing.T) {
	keys := newFileStore(t, t.TempDir())
	c, _ := connect(t, Config{URL: "https://orders.test"}, keys)
	hang(t, keys, `https://orders.test "" "cart-1"`, 0)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()

	if err := c.forget(ctx, "cart-1", "key"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("err = %v", err)
	}
}
