package memory

import (
	"context"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
)

// ledger implements [payment.Ledger].
type ledger struct{ *tx }

// Append inserts an entry. An operation changes a customer's balance once; an entry
// without a key belongs to no operation. No two entries of a customer and kind have one
// reference, and no two of a balance have one position.
func (t ledger) Append(_ context.Context, e *payment.LedgerEntry) error {
	for _, other := range t.entries {
		if e.By.Key != "" && other.By == e.By && other.CustomerID == e.CustomerID {
			return duplicate("entry of one operation")
		}
		if e.Reference != "" && other.Reference == e.Reference && other.Kind == e.Kind && other.CustomerID == e.CustomerID {
			return duplicate("entry with one reference")
		}
		if e.Position > 0 && other.Position == e.Position && sameBalance(e, other) {
			return duplicate("position in one balance")
		}
	}
	stored := copyOf(e)
	stored.CreatedAt = stamp(e.CreatedAt)
	t.entries[e.ID] = stored
	return nil
}

func sameBalance(a, b *payment.LedgerEntry) bool {
	return a.CustomerID == b.CustomerID && a.Amount.Currency() == b.Amount.Currency()
}

// List returns a page of the entries that the filter selects and one more, newest first.
func (t ledger) List(_ context.Context, f payment.EntryFilter, page core.Page) ([]*payment.LedgerEntry, error) {
	selected := func(e *payment.LedgerEntry) bool {
		return e.CustomerID == f.CustomerID && (f.Reference == "" || f.Reference == e.Reference) && f.Created.Includes(e.CreatedAt)
	}
	rows := rowsOf(t.entries, selected, func(e *payment.LedgerEntry) core.Position {
		return core.Position{CreatedAt: e.CreatedAt, ID: e.ID}
	})
	return pageOf(rows, page, copyOf), nil
}
