package postgres

import (
	"context"
	"sync"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/core"
)

// idBlock is the step of the sequences: what one nextval gives to this process.
const idBlock = 100

// idBlocks hands out ids from blocks drawn of the sequences.
type idBlocks struct {
	blocks [core.ProductIDs + 1]struct {
		sync.Mutex
		next, end int64
	}
}

// NextID gives an id. Every hundredth call or so draws a new block, on the
// transaction's own connection, for another one might have to be waited for.
func (t *tx) NextID(ctx context.Context, of core.Sequence) (int64, error) {
	b := &t.db.ids.blocks[of]
	b.Lock()
	defer b.Unlock()
	if b.next == b.end {
		first, err := draw(ctx, dbsqlc.New(t.conn), of)
		if err != nil {
			return 0, unavailable(err)
		}
		b.next, b.end = first, first+idBlock
	}
	id := b.next
	b.next++
	return id, nil
}

func draw(ctx context.Context, q *dbsqlc.Queries, of core.Sequence) (int64, error) {
	return map[core.Sequence]func(context.Context) (int64, error){
		core.OrderIDs:       q.DrawOrderID,
		core.PaymentIDs:     q.DrawPaymentID,
		core.RefundIDs:      q.DrawRefundID,
		core.LedgerEntryIDs: q.DrawLedgerEntryID,
		core.ProductIDs:     q.DrawProductID,
	}[of](ctx)
}
