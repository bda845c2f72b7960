package core

import "context"

// Sequence names a kind of row that has integer ids.
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

// IDs allocates ids before the rows exist, so that a command never waits for the
// answer to a write. Ids are unique, and some are never used.
type IDs interface {
	NextID(ctx context.Context, of Sequence) (int64, error)
}
