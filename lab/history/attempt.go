package history

import (
	"cmp"
	"net/http"
	"slices"
	"time"
)

// ID is the key of a principal.
type ID struct{ Scope, Key string }

// ID returns the key of the attempt.
func (a Attempt) ID() ID { return ID{a.Scope, a.Key} }

func (id ID) String() string { return "key " + id.Key + " of " + id.Scope }

func (id ID) compare(other ID) int {
	return cmp.Or(cmp.Compare(id.Scope, other.Scope), cmp.Compare(id.Key, other.Key))
}

// command reports whether the attempt is a command with a key.
func (a Attempt) command() bool {
	return a.Key != "" && a.Operation != Lookup && a.Operation != Expiry
}

// Codes for the guard's refusals. They do not decide the operation and are not stored.
const (
	codeReused     = "idempotency_key_reused"
	codeSpent      = "idempotency_key_spent"
	codeInProgress = "idempotency_in_progress"
)

// decides reports whether the response is a stored one, made by this attempt or
// replayed. The guard reports this in Idempotency-Result. A schema error (422) has no
// such header and is not stored.
func (a Attempt) decides() bool {
	return a.command() && a.Outcome != Unknown && a.Result != ""
}

// took reports whether the attempt is a success: the command took effect now or before.
func (a Attempt) took() bool { return a.decides() && a.Outcome == OK }

// created reports whether the command took effect, or was refused, within this attempt.
func (a Attempt) created() bool { return a.decides() && a.Result == "created" }

// unknown reports whether the command may have taken effect by this attempt, or still
// may.
func (a Attempt) unknown() bool { return a.command() && a.Outcome == Unknown }

// inProgress reports whether the answer is that a second attempt is running.
func (a Attempt) inProgress() bool {
	return a.Code == codeInProgress || a.Operation == Lookup && a.Record != nil && a.Record.State == "in_progress"
}

// mayRunBeside reports whether the attempt may have run while the other one did.
func (a Attempt) mayRunBeside(other Attempt) bool {
	return a.Start <= other.End && (a.unknown() || a.End >= other.Start)
}

// besideAny reports whether one of the others may have run while the attempt did.
func (a Attempt) besideAny(others []Attempt) bool {
	return slices.ContainsFunc(others, func(b Attempt) bool { return b.mayRunBeside(a) })
}

// worksOn is how long a replica works on an attempt at most after its client hung up.
const worksOn = 10 * time.Second

// mayWaitFor reports whether the attempt may have waited until its replica had asked the
// database about the other one: a replica asks about a key for one attempt at a time. An
// attempt that is in progress for this reason says nothing about the record.
func (a Attempt) mayWaitFor(other Attempt) bool {
	return other.command() && !other.inProgress() && other.Replica == a.Replica &&
		other.mayRunBeside(a) && a.Start <= other.End+worksOn
}

// awaitsKey is how long a command that has lost its key waits to get it back. Then it is
// refused, because a second attempt is running.
const awaitsKey = 2 * time.Second

// mayHaveLostKey reports whether the attempt may have held the key although it was refused.
func (a Attempt) mayHaveLostKey() bool {
	return a.command() && a.inProgress() && a.End-a.Start >= awaitsKey
}

// storable reports whether the guard stores a response with this status.
func storable(status int) bool {
	switch status {
	case http.StatusPaymentRequired, http.StatusConflict, http.StatusUnprocessableEntity:
		return true
	}
	return status/100 == 2
}

// groupBy groups the elements by key, in key order.
func groupBy[E any, K comparable](all []E, key func(E) K, compare func(a, b K) int) ([]K, map[K][]E) {
	groups := map[K][]E{}
	var keys []K
	for _, e := range all {
		k := key(e)
		if _, known := groups[k]; !known {
			keys = append(keys, k)
		}
		groups[k] = append(groups[k], e)
	}
	slices.SortFunc(keys, compare)
	return keys, groups
}

// filter returns the attempts that satisfy keep.
func filter(attempts []Attempt, keep func(Attempt) bool) []Attempt {
	var kept []Attempt
	for _, a := range attempts {
		if keep(a) {
			kept = append(kept, a)
		}
	}
	return kept
}
