package order

import (
	"strconv"
	"time"

	"example.com/orders/internal/core"
)

// StockAdjustment is a change of a product's stock that AdjustStock made. OnHand is the
// quantity after it.
type StockAdjustment struct {
	ID     int64
	SKU    string
	Change int64
	OnHand int64
	Reason string
	// By is the operation that made the change.
	By        core.Operation
	CreatedAt time.Time
}

// repeats refuses a command that asks for another change than the one that the same
// operation made before.
func (a *StockAdjustment) repeats(cmd AdjustStock) error {
	if a.Change != cmd.Change || a.Reason != cmd.Reason {
		return core.KeyReused()
	}
	return nil
}

// auditMetadata describes an adjustment of a product in the audit log.
func (a *StockAdjustment) auditMetadata(p *Product) core.Metadata {
	return p.Owners().Metadata().WithID("stock_adjustment_id", a.ID).
		With("change", strconv.FormatInt(a.Change, 10)).With("on_hand", strconv.FormatInt(a.OnHand, 10))
}
