package postgres

import (
	"context"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/adapters/out/postgres/fetch"
	"example.com/orders/internal/adapters/out/postgres/null"
	"example.com/orders/internal/adapters/out/postgres/pgtx"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
)

// products implements [order.Products].
type products struct{ tx *session }

// Get loads a product.
func (s products) Get(ctx context.Context, sku string) (*order.Product, error) {
	return fetch.One(ctx, s.tx, (*queries).ProductBySKU, sku, productOf)
}

// Lock locks and loads a product that the grant covers.
func (s products) Lock(ctx context.Context, sku string, g core.Grant) (*order.Product, error) {
	return s.tx.lockProduct(ctx, sku, g)
}

// lockProduct locks and loads a product that the grant covers. Other reads may share
// the round trip; they come after the lock.
func (s *session) lockProduct(ctx context.Context, sku string, g core.Grant, others ...pgtx.Read) (*order.Product, error) {
	var exists bool
	var rows []dbsqlc.Product
	lock := dbsqlc.LockProductParams{Sku: sku, Everybody: g.Everybody, AsSeller: null.IfZero(g.Seller)}
	err := s.Load(ctx, append([]pgtx.Read{
		pgtx.Into(&exists, (*queries).ProductExists, sku), pgtx.Into(&rows, (*queries).LockProduct, lock),
	}, others...)...)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, notLocked(exists)
	}
	p, err := productOf(rows[0])
	if err == nil {
		s.batch.products[sku] = p.Clone()
	}
	return p, err
}

// List returns a page plus one more product, newest first.
func (s products) List(ctx context.Context, page core.Page) ([]*order.Product, error) {
	return fetch.List(ctx, s.tx, (*queries).ListProducts, dbsqlc.ListProductsParams{
		BeforeTime: null.IfZeroTime(page.After.CreatedAt), BeforeID: page.After.ID, Rows: int32(page.Limit + 1),
	}, productOf)
}

// Save inserts or updates a product.
func (s products) Save(ctx context.Context, p *order.Product) error {
	if p.New {
		return s.tx.Writes().InsertProduct(ctx, dbsqlc.InsertProductParams{
			Sku: p.SKU, ID: p.ID, SellerID: p.SellerID, Name: p.Name,
			Price: p.Price.Decimal(), Currency: string(p.Price.Currency()), OnHand: p.OnHand, Version: p.Version,
			CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt,
		})
	}
	return s.tx.Writes().UpdateProduct(ctx, dbsqlc.UpdateProductParams{
		Sku: p.SKU, Name: p.Name, Price: p.Price.Decimal(), Currency: string(p.Price.Currency()),
		OnHand: p.OnHand, Version: p.Version, UpdatedAt: p.UpdatedAt,
	})
}

// SaveStock writes the quantities and versions for several locked products in one
// statement.
func (s products) SaveStock(_ context.Context, stock order.Stock) error {
	saved := make(savedStock, len(stock))
	for sku, p := range stock {
		saved[sku] = p.Clone()
	}
	return s.tx.write(saved)
}

// savedStock is stock changed by a command.
type savedStock order.Stock

// join lets later members change the stock further. Each row is written once.
func (s savedStock) join(b *batch) {
	for sku, p := range s {
		b.stock.add(sku, b.products[sku])
		b.products[sku] = p
	}
}

func (b *batch) stockParams(skus []string) dbsqlc.UpdateStockOfManyParams {
	var many dbsqlc.UpdateStockOfManyParams
	for _, sku := range skus {
		p, read := b.products[sku], b.stock.read[sku]
		many.Skus, many.Versions = append(many.Skus, sku), append(many.Versions, p.Version)
		many.OnHand, many.Reserved = append(many.OnHand, p.OnHand), append(many.Reserved, p.Reserved)
		many.ReadVersions, many.ReadReserved = append(many.ReadVersions, read.Version), append(many.ReadReserved, read.Reserved)
	}
	return many
}

func productOf(row dbsqlc.Product) (*order.Product, error) {
	price, err := core.MoneyOf(row.Price, row.Currency)
	return &order.Product{
		ID: row.ID, SKU: row.Sku, SellerID: row.SellerID, Name: row.Name, Price: price,
		OnHand: row.OnHand, Reserved: row.Reserved, Version: row.Version,
		CreatedAt: row.CreatedAt.UTC(), UpdatedAt: row.UpdatedAt.UTC(),
	}, err
}

// stockAdjustments implements [order.StockAdjustments].
type stockAdjustments struct{ tx *session }

// Lock locks and loads a product that the grant covers, and the operation's earlier
// adjustment. The reference is looked up after the lock, so that the lookup sees the
// adjustments by the previous holders.
func (s stockAdjustments) Lock(ctx context.Context, q order.StockQuery) (locked order.LockedStock, err error) {
	var prior []dbsqlc.StockAdjustment
	reads := []pgtx.Read{pgtx.Into(&prior, (*queries).StockAdjustmentByOperation, dbsqlc.StockAdjustmentByOperationParams{
		Sku: q.SKU, CreatedBy: q.By.Actor, IdempotencyKey: q.By.Key,
	})}
	if q.Reference != "" {
		reads = append(reads, pgtx.Into(&locked.ReferenceTaken, (*queries).StockReferenceTaken, dbsqlc.StockReferenceTakenParams{
			Sku: q.SKU, CreatedBy: q.By.Actor, Reference: q.Reference,
		}))
	}
	locked.Product, err = s.tx.lockProduct(ctx, q.SKU, q.Grant, reads...)
	if err == nil && len(prior) > 0 {
		locked.Prior = adjustmentOf(prior[0])
	}
	return locked, err
}

// Add inserts an adjustment.
func (s stockAdjustments) Add(ctx context.Context, a *order.StockAdjustment) error {
	return s.tx.Writes().InsertStockAdjustment(ctx, dbsqlc.InsertStockAdjustmentParams{
		ID: a.ID, Sku: a.SKU, Change: a.Change, OnHand: a.OnHand, Reason: a.Reason, Reference: a.Reference,
		CreatedBy: a.By.Actor, IdempotencyKey: a.By.Key, CreatedAt: a.CreatedAt,
	})
}

func adjustmentOf(row dbsqlc.StockAdjustment) *order.StockAdjustment {
	return &order.StockAdjustment{
		ID: row.ID, SKU: row.Sku, Change: row.Change, OnHand: row.OnHand, Reason: row.Reason, Reference: row.Reference,
		By: core.Operation{Actor: row.CreatedBy, Key: row.IdempotencyKey}, CreatedAt: row.CreatedAt.UTC(),
	}
}
