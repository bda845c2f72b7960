package order

import (
	"strconv"
	"time"

	"example.com/orders/internal/core"
)

// StockAdjustment is a change made by AdjustStock. OnHand is the resulting quantity.
type StockAdjustment struct {
	ID        int64
	SKU       string
	Change    int64
	OnHand    int64
	Reason    string
	By        core.Operation
	CreatedAt time.Time
}

// repeats refuses a retry that asks for a different change than the first request did.
func (a *StockAdjustment) repeats(cmd AdjustStock) error {
	if a.Change != cmd.Change || a.Reason != cmd.Reason {
		return core.KeyReused()
	}
	return nil
}

func (a *StockAdjustment) auditMetadata(p *Product) core.Metadata {
	return p.Owners().Metadata().WithID("stock_adjustment_id", a.ID).
		With("change", strconv.FormatInt(a.Change, 10)).With("on_hand", strconv.FormatInt(a.OnHand, 10))
}
