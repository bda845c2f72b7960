// Package testwait lets tests wait for what must happen, and no longer.
package testwait

import (
	"testing"
	"time"
)

// Patience bounds what a test waits for, on a slow machine.
const Patience = time.Minute

// pause lies between two looks.
const pause = 5 * time.Millisecond

// Until waits until the condition holds, or ends the test. It counts its looks and not
// the time: while a machine stands still, nobody loses patience.
func Until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for range Patience / pause {
		if condition() {
			return
		}
		time.Sleep(pause)
	}
	t.Fatalf("after more than %s still not: %s", Patience, what)
}
