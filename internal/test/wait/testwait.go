// Package testwait lets tests wait for a condition.
package testwait

import (
	"testing"
	"time"
)

// Patience bounds how long a test waits. A slow machine may need much of it.
const Patience = time.Minute

// pause is the time between two checks.
const pause = 5 * time.Millisecond

// Until waits until the condition holds. It ends the test if it has to wait for longer
// than Patience, or when something beside it has failed meanwhile. It counts checks and
// not time, so that a pause of the whole machine does no harm.
func Until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	failed := t.Failed()
	for range Patience / pause {
		if condition() {
			return
		}
		if t.Failed() && !failed {
			t.FailNow()
		}
		time.Sleep(pause)
	}
	t.Fatalf("not within %s: %s", Patience, what)
}
