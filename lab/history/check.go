package history

import "time"

// Options are additional facts about a run.
type Options struct {
	// Ledger is the entries at the end of the run, as returned by [LoadLedger]. It
	// orders each account's changes, and settles which unknown operations took effect.
	// Without it, the checker searches for an order, and every change to an account has
	// to be in the history. Empty is not nil: there are no entries.
	Ledger []Entry
	// Limit bounds the search for one key or one account; 0 means 5 seconds.
	Limit time.Duration
}

// Check returns the rules that a history breaks. A service under AUTH-19 breaks no
// rule. [Undecided] is among them for each key or account whose
// search took too long.
//
// The search for a key or an account is exponential in the overlapping attempts, and an
// unknown one overlaps all later ones. Two things keep it small. A key needs only as
// many unknown attempts per request as can take effect. And with the ledger, an account
// operation is known to have happened, at its position, or never.
//
// The stock of most products has no model, because reservations expire and
// warehouse messages arrive without a client's attempt. Database invariants cover it.
func Check(attempts []Attempt, opt Options) []Violation {
	if opt.Limit == 0 {
		opt.Limit = 5 * time.Second
	}
	found := checkKeys(attempts, opt.Limit)
	found = append(found, checkOwners(attempts)...)
	return append(found, checkAccounts(attempts, opt)...)
}
