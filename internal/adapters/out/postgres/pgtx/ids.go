package pgtx

import (
	"context"
	"sync"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/core"
)

// blockSize is the sequences' increment: each nextval reserves that many ids for this
// process.
const blockSize = 100

// idPool holds unused ids from one sequence. Its mutex is never held during a round
// trip.
type idPool struct {
	sync.Mutex
	blocks []idBlock
}

// idBlock is a non-empty id range.
type idBlock struct{ next, end int64 }

// NextID returns an id. About every hundredth call draws a new block, on the
// transaction's connection, because waiting for a second one could exhaust the pool.
// Transactions that find no id at the same time each draw a block; later ones use the
// surplus.
func (t *Tx) NextID(ctx context.Context, of core.Sequence) (int64, error) {
	pool := &t.db.ids[of]
	if id, ok := pool.take(); ok {
		return id, nil
	}
	first, err := draw(ctx, dbsqlc.New(t.conn), of)
	if err != nil {
		return 0, Unavailable(err)
	}
	pool.add(idBlock{first + 1, first + blockSize})
	return first, nil
}

// take returns an unused id, if any.
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

// count returns the number of unused ids.
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

// DrawIDs returns reads that draw a block from each sequence with fewer ids than
// needed.
func (t *Tx) DrawIDs(needed map[core.Sequence]int) []Read {
	var reads []Read
	for i := range t.db.ids { // and not over the map: equal commands send equal statements
		of, pool := core.Sequence(i), &t.db.ids[i]
		if pool.count() >= needed[of] {
			continue
		}
		reads = append(reads, func(ctx context.Context, q *dbsqlc.Queries) error {
			first, err := draw(ctx, q, of)
			if err == nil {
				pool.add(idBlock{first, first + blockSize})
			}
			return err
		})
	}
	return reads
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
