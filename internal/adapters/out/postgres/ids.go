package postgres

import (
	"context"
	"sync"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/core"
)

// idBlock is the increment of the sequences: each nextval reserves as many ids for this
// process.
const idBlock = 100

// idBlocks allocates ids from blocks that are drawn from the sequences.
type idBlocks struct {
	blocks [core.ProductIDs + 1]struct {
		sync.Mutex
		next, end int64
	}
}

// NextID returns an id. About every hundredth call draws a new block. It uses the
// transaction's own connection: to wait for a second one while holding the first could
// exhaust the pool.
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
