// Package ids draws ids from the sequences in blocks.
package ids

import (
	"context"
	"sync"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/adapters/out/postgres/pgtx"
	"example.com/orders/internal/core"
)

// blockSize is the sequences' increment: each nextval reserves that many ids for this
// process.
const blockSize = 100

// Pools hold the unused ids of this process, by sequence.
type Pools [core.StockAdjustmentIDs + 1]pool

// pool holds unused ids from one sequence. Its mutex is never held during a round
// trip.
type pool struct {
	sync.Mutex
	blocks []block
}

// block is a non-empty id range.
type block struct{ next, end int64 }

// Next returns an id. About every hundredth call draws a new block, on the
// transaction's connection, because waiting for a second one could exhaust the pool.
// Transactions that find no id at the same time each draw a block; later ones use the
// surplus.
func (p *Pools) Next(ctx context.Context, t *pgtx.Tx, of core.Sequence) (int64, error) {
	unused := &p[of]
	if id, ok := unused.take(); ok {
		return id, nil
	}
	first, err := draw(ctx, dbsqlc.New(t.Conn()), of)
	if err != nil {
		return 0, pgtx.Unavailable(err)
	}
	unused.add(block{first + 1, first + blockSize})
	return first, nil
}

// take returns an unused id, if any.
func (p *pool) take() (int64, bool) {
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
func (p *pool) count() int {
	p.Lock()
	defer p.Unlock()
	n := int64(0)
	for _, b := range p.blocks {
		n += b.end - b.next
	}
	return int(n)
}

func (p *pool) add(b block) {
	p.Lock()
	defer p.Unlock()
	p.blocks = append(p.blocks, b)
}

// Reads returns reads that draw a block from each sequence with fewer ids than needed.
func (p *Pools) Reads(needed map[core.Sequence]int) []pgtx.Read {
	var reads []pgtx.Read
	for i := range p { // and not over the map: equal commands send equal statements
		of, unused := core.Sequence(i), &p[i]
		if unused.count() >= needed[of] {
			continue
		}
		reads = append(reads, func(ctx context.Context, q *dbsqlc.Queries) error {
			first, err := draw(ctx, q, of)
			if err == nil {
				unused.add(block{first, first + blockSize})
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
