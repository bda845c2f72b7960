package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	testwait "example.com/orders/internal/test/wait"
)

// anyPorts makes the service listen on ports that the system chooses.
var anyPorts = []string{"ORDERS_ADDR=127.0.0.1:0", "ORDERS_ADMIN_ADDR=127.0.0.1:0"}

// newDir returns a folder that PostgreSQL's own user can reach. Nobody but us can reach
// those of t.TempDir, so that orders-dev would put the data elsewhere.
func newDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "orders-dev-") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// fuse is a context that ends when it is looked at for the last of a number of times. So a
// start can be stopped at any of its steps, whatever their duration.
type fuse struct {
	context.Context //nolint:containedctx // it is one
	left            *atomic.Int64
	cancel          context.CancelFunc
}

func newFuse(parent context.Context, looks int) fuse {
	f := fuse{left: new(atomic.Int64)}
	f.Context, f.cancel = context.WithCancel(parent)
	f.left.Store(int64(looks))
	return f
}

func (f fuse) look() {
	if f.left.Add(-1) == 0 {
		f.cancel()
	}
}

func (f fuse) Done() <-chan struct{} { f.look(); return f.Context.Done() }
func (f fuse) Err() error            { f.look(); return f.Context.Err() }

// screen is what a terminal shows.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// Every run continues on what the last one left behind, and the last one runs to the end.
func TestDev_StopsQuietlyAtEveryStepOfTheStart(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	complete, next := false, 2
	for looks := 1; !complete; looks, next = next, looks+next {
		ctx, printed := newFuse(t.Context(), looks), &screen{}
		ended := make(chan error, 1)
		go func() { ended <- run(ctx, []string{"--dir", dir}, anyPorts, printed) }()
		testwait.Until(t, "orders-dev has started or stopped", func() bool {
			complete = strings.Contains(printed.String(), "\nPaste this")
			return complete || len(ended) > 0
		})
		ctx.cancel()

		if err := <-ended; err != nil {
			t.Errorf("stopped at look %d: %v", looks, err)
		}
		text := printed.String()
		if strings.Contains(text, " ERR ") || strings.Contains(text, " WRN ") {
			t.Errorf("stopped at look %d, it prints\n%s", looks, text)
		}
		if !strings.HasSuffix(text, "\nGood-bye. The data stays in "+dir+" for the next run; to delete it: rm -r "+dir+"\n") {
			t.Errorf("stopped at look %d, its last words are %q", looks, text[max(0, len(text)-200):])
		}
		t.Logf("stopped at look %d, after %d bytes", looks, len(text))
	}
}
