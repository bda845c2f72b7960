package lanes

import (
	"sync"
	"sync/atomic"
	"time"

	"example.com/orders/kit/guard"
)

// InFlight holds the keys that this process is working on.
type InFlight struct{ keys sync.Map }

// Enter adds a key and reports whether it was absent.
func (f *InFlight) Enter(id guard.ID) bool {
	_, present := f.keys.LoadOrStore(id, true)
	return !present
}

// Leave removes a key.
func (f *InFlight) Leave(id guard.ID) { f.keys.Delete(id) }

// Has reports whether this process is working on a key.
func (f *InFlight) Has(id guard.ID) bool {
	_, present := f.keys.Load(id)
	return present
}

// Empty reports whether this process is working on no key.
func (f *InFlight) Empty() bool {
	for range f.keys.Range {
		return false
	}
	return true
}

// ungroupableFor is how long an operation runs alone after its first load ruled out a
// group.
const ungroupableFor = time.Minute

// Ungroupable holds the operations whose commands run alone for a while.
type Ungroupable struct{ until sync.Map }

// Add adds an operation.
func (u *Ungroupable) Add(operation string) { u.until.Store(operation, time.Now().Add(ungroupableFor)) }

// Has reports whether commands of the operation run alone now.
func (u *Ungroupable) Has(operation string) bool {
	until, found := u.until.Load(operation)
	return found && time.Now().Before(until.(time.Time)) //nolint:forcetypeassert // Add stored it
}

// RetryPredictor predicts from the last keys whether the next one is stored already, as a
// processor predicts a branch.
type RetryPredictor struct{ count atomic.Int32 }

// maxRetries is how far RetryPredictor counts. It predicts a retry above half of it.
const maxRetries = 16

// Note counts a key. Two at a time may count as one.
func (r *RetryPredictor) Note(stored bool) {
	if stored {
		r.count.Store(min(r.count.Load()+1, maxRetries))
		return
	}
	r.count.Store(max(r.count.Load()-1, 0))
}

// Likely reports whether the next key is probably stored.
func (r *RetryPredictor) Likely() bool { return r.count.Load() > maxRetries/2 }
