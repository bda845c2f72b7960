package e2e

import (
	"sync"
	"testing"
	"time"

	testwait "example.com/orders/internal/test/wait"
)

// Patience bounds the waiting in tests.
const Patience = testwait.Patience

// Eventually waits until the condition holds, or ends the test.
func Eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	testwait.Until(t, what, condition)
}

// NewSignal returns a channel and a function that closes it. The function may be called
// more than once.
func NewSignal() (signal <-chan struct{}, fire func()) {
	c := make(chan struct{})
	return c, sync.OnceFunc(func() { close(c) })
}

// Receive waits for a value from another goroutine.
func Receive[T any](t testing.TB, from <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(Patience):
		t.Fatalf("after %s still not: %s", Patience, what)
		panic("unreachable")
	}
}
