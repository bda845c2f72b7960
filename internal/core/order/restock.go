package order

import (
	"context"
	"errors"

	"example.com/orders/internal/core"
)

// Restock is the command to add units to a product's stock.
type Restock struct {
	SKU      string
	Quantity int64
	// Message announced the units. Each message counts once.
	Message core.Message
}

// ErrRestockedBefore means that the message was already processed, so that no unit was
// added.
var ErrRestockedBefore = errors.New("the message has been processed before")

// Restock adds units to a product's stock, once per message (R-DIST-IDEM-1). It returns
// [ErrRestockedBefore] for a message that was already processed, and
// [core.ErrForgotten] for one that may have been. Refusals: not_found;
// validation_failed for a quantity that is not positive or exceeds the maximum stock. A
// refused message is not recorded, because the sender has to correct it.
func (s *Service) Restock(ctx context.Context, cmd Restock) error {
	if cmd.Quantity < 1 {
		return core.InvalidField("/quantity", "must be greater than zero")
	}
	var first bool
	err := s.Store.InTx(ctx, func(ctx context.Context, tx Tx) (err error) {
		first, err = core.FirstTime(ctx, tx.Inbox, tx.Now, cmd.Message)
		if err != nil || !first {
			return err
		}
		p, err := tx.Products.Lock(ctx, cmd.SKU, core.GrantEverybody)
		if err != nil {
			return core.RefusalOf(err, "product")
		}
		if err := p.adjust(cmd.Quantity, "/quantity"); err != nil {
			return err
		}
		return tx.Products.SaveStock(ctx, Stock{p.SKU: p})
	})
	if err == nil && !first { // committed: a failover cannot undo the first time
		return ErrRestockedBefore
	}
	return err
}
