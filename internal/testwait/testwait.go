// Package testwait lets tests wait for what must happen, and no longer.
package testwait

import (
	"testing"
	"time"
)

// Patience bounds what a test waits for, on a slow machine.
const Patience = time.Minute

// Until waits until the condition holds, or ends the test.
func Until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(Patience)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("after %s still not: %s", Patience, what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
