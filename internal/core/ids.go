package core

import "context"

// Sequence names a table with integer ids.
type Sequence int

// The sequences.
const (
	OrderIDs Sequence = iota
	PaymentIDs
	RefundIDs
	LedgerEntryIDs
	ProductIDs
	StockAdjustmentIDs
)

// IDs allocates ids before the rows exist, so that a command never waits for the answer
// to a write. Ids are unique, and some stay unused.
type IDs interface {
	NextID(ctx context.Context, of Sequence) (int64, error)
}
