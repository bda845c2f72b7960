package postgres

import (
	"context"
	"sync"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/core"
)

// blockSize is the increment of the sequences: each nextval reserves as many ids for this
// process.
const blockSize = 100

// idPool holds ids that were drawn from one sequence and not used. Its mutex is never
// held while somebody waits for the database.
type idPool struct {
	sync.Mutex
	blocks []idBlock
}

// idBlock is a range of ids. It is not empty.
type idBlock struct{ next, end int64 }

// NextID returns an id. About every hundredth call draws a new block. It uses the
// transaction's own connection: to wait for a second one while holding the first could
// exhaust the pool. Transactions that find no id at the same time draw a block each, and
// the surplus serves later ones. A member of a group uses the context of the group: if its
// own ended during the query, that would close the connection of all.
func (t *tx) NextID(ctx context.Context, of core.Sequence) (int64, error) {
	pool := &t.db.ids[of]
	if id, ok := pool.take(); ok {
		return id, nil
	}
	if t.group != nil {
		ctx = t.group.ctx
	}
	first, err := draw(ctx, dbsqlc.New(t.conn), of)
	if err != nil {
		return 0, unavailable(err)
	}
	pool.add(idBlock{first + 1, first + blockSize})
	return first, nil
}

// take returns an unused id, if there is one.
func (p *idPool) take() (int64, bool) {
	p.Lock()
	defer p.Unlock()
	last := len(p.blocks) - 1
	if last < 0 {
		return 0, false
	}
	b := &p.blocks[last]
	id := b.next
	b.next++
	if b.next == b.end {
		p.blocks = p.blocks[:last]
	}
	return id, true
}

// count returns how many ids are unused.
func (p *idPool) count() int {
	p.Lock()
	defer p.Unlock()
	n := int64(0)
	for _, b := range p.blocks {
		n += b.end - b.next
	}
	return int(n)
}

func (p *idPool) add(b idBlock) {
	p.Lock()
	defer p.Unlock()
	p.blocks = append(p.blocks, b)
}

func draw(ctx context.Context, q *dbsqlc.Queries, of core.Sequence) (int64, error) {
	return map[core.Sequence]func(context.Context) (int64, error){
		core.OrderIDs:           q.DrawOrderID,
		core.PaymentIDs:         q.DrawPaymentID,
		core.RefundIDs:          q.DrawRefundID,
		core.LedgerEntryIDs:     q.DrawLedgerEntryID,
		core.ProductIDs:         q.DrawProductID,
		core.StockAdjustmentIDs: q.DrawStockAdjustmentID,
	}[of](ctx)
}
