package history

import "time"

// Options are what is known of a run besides its attempts.
type Options struct {
	// Balances are those of the accounts when the history began, in the smallest unit.
	// Missing ones are 0. They are not needed if the ledger is known.
	Balances map[string]int64
	// Ledger are the entries at the end of the run, as [LoadLedger] returns them. It has
	// the order of the changes of each account, and settles which unknown operations took
	// effect. Without it, the checker searches for an order, and every change of an
	// account has to be in the history. Empty is not nil: there are no entries.
	Ledger []Entry
	// Limit bounds the search for one key or one account; 0 means 5 seconds.
	Limit time.Duration
}

// Check returns the rules that a history breaks: nothing if a service that keeps
// AUTH-19 can have answered like this. [Undecided] is among them for each key or
// account whose search took too long.
//
// The search of a key or an account is exponential in the attempts that overlap, and an
// unknown one overlaps all that come after it. Two things keep it small. A key needs
// only as many unknown attempts of one request as can take effect. And with the ledger,
// an operation of an account is known to have happened, at its position, or never.
//
// Stock has no model: the invariants of the database cover it, for reservations expire
// and warehouse messages arrive without an attempt of any client.
func Check(attempts []Attempt, opt Options) []Violation {
	if opt.Limit == 0 {
		opt.Limit = 5 * time.Second
	}
	found := checkKeys(attempts, opt.Limit)
	found = append(found, checkOwners(attempts)...)
	return append(found, checkAccounts(attempts, opt)...)
}
