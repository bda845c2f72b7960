package postgres

import (
	"context"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
)

// products implements [order.Products].
type products struct{ t *tx }

// Get loads a product.
func (s products) Get(ctx context.Context, sku string) (*order.Product, error) {
	found, err := s.many(ctx, func(q *dbsqlc.Queries) ([]dbsqlc.Product, error) { return q.ProductBySKU(ctx, sku) })
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, core.ErrNotFound
	}
	return found[0], nil
}

// Lock locks and loads a product that the grant covers.
func (s products) Lock(ctx context.Context, sku string, g core.Grant) (*order.Product, error) {
	return s.t.lockProduct(ctx, sku, g)
}

// lockProduct locks and loads a product that the grant covers. Other reads may share the
// round trip; they come after the lock.
func (t *tx) lockProduct(ctx context.Context, sku string, g core.Grant, others ...read) (*order.Product, error) {
	var exists bool
	var rows []dbsqlc.Product
	err := t.load(ctx, append([]read{
		func(q *dbsqlc.Queries) (err error) {
			exists, err = q.ProductExists(ctx, sku)
			return err
		},
		func(q *dbsqlc.Queries) (err error) {
			rows, err = q.LockProduct(ctx, dbsqlc.LockProductParams{
				Sku: sku, Everybody: g.Everybody, AsSeller: optional(g.Seller),
			})
			return err
		},
	}, others...)...)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, notLocked(exists)
	}
	return productOf(rows[0])
}

// List returns a page of products and one more, newest first.
func (s products) List(ctx context.Context, page core.Page) ([]*order.Product, error) {
	return s.many(ctx, func(q *dbsqlc.Queries) ([]dbsqlc.Product, error) {
		return q.ListProducts(ctx, dbsqlc.ListProductsParams{
			BeforeTime: optionalTime(page.After.CreatedAt), BeforeID: page.After.ID, Rows: int32(page.Limit + 1),
		})
	})
}

func (s products) many(ctx context.Context, find func(*dbsqlc.Queries) ([]dbsqlc.Product, error)) ([]*order.Product, error) {
	var rows []dbsqlc.Product
	err := s.t.load(ctx, func(q *dbsqlc.Queries) (err error) {
		rows, err = find(q)
		return err
	})
	if err != nil {
		return nil, err
	}
	found := make([]*order.Product, len(rows))
	for i, row := range rows {
		if found[i], err = productOf(row); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// Save inserts or updates a product.
func (s products) Save(ctx context.Context, p *order.Product) error {
	if p.New {
		return s.t.writes().InsertProduct(ctx, dbsqlc.InsertProductParams{
			Sku: p.SKU, ID: p.ID, SellerID: p.SellerID, Name: p.Name,
			Price: p.Price.Decimal(), Currency: string(p.Price.Currency()), OnHand: p.OnHand, Version: p.Version,
			CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt,
		})
	}
	return s.t.writes().UpdateProduct(ctx, dbsqlc.UpdateProductParams{
		Sku: p.SKU, Name: p.Name, Price: p.Price.Decimal(), Currency: string(p.Price.Currency()),
		OnHand: p.OnHand, Version: p.Version, UpdatedAt: p.UpdatedAt,
	})
}

// SaveStock writes the quantities and versions of several locked products in one
// statement.
func (s products) SaveStock(ctx context.Context, stock order.Stock) error {
	return s.t.write(ctx, savedStock(stock))
}

// savedStock is the stock that a command has changed.
type savedStock order.Stock

func (s savedStock) alone(ctx context.Context, q *dbsqlc.Queries) error {
	var counts dbsqlc.UpdateStockParams
	for _, p := range s {
		counts.Skus = append(counts.Skus, p.SKU)
		counts.OnHand = append(counts.OnHand, p.OnHand)
		counts.Reserved = append(counts.Reserved, p.Reserved)
		counts.Versions = append(counts.Versions, p.Version)
	}
	return q.UpdateStock(ctx, counts)
}

// join lets later members change the stock further. Each row is written once.
func (s savedStock) join(g *group) {
	for sku, p := range s {
		g.stock.add(sku, g.products[sku])
		g.products[sku] = p
	}
}

func stockOf(rows []dbsqlc.Product) (order.Stock, error) {
	stock := make(order.Stock, len(rows))
	for _, row := range rows {
		p, err := productOf(row)
		if err != nil {
			return nil, err
		}
		stock[p.SKU] = p
	}
	return stock, nil
}

func productOf(row dbsqlc.Product) (*order.Product, error) {
	price, err := core.MoneyOf(row.Price, row.Currency)
	if err != nil {
		return nil, err
	}
	return &order.Product{
		ID: row.ID, SKU: row.Sku, SellerID: row.SellerID, Name: row.Name, Price: price,
		OnHand: row.OnHand, Reserved: row.Reserved, Version: row.Version,
		CreatedAt: row.CreatedAt.UTC(), UpdatedAt: row.UpdatedAt.UTC(),
	}, nil
}
