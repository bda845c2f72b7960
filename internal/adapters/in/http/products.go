package httpapi

import (
	"context"
	"net/http"

	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
)

func decodePutProduct(r *request) (order.PutProduct, error) {
	sku, err := decodeSKU(r)
	if err != nil {
		return order.PutProduct{}, err
	}
	in, err := bodyOf[wire.PutProductRequest](r)
	if err != nil {
		return order.PutProduct{}, err
	}
	price, err := decodeMoney(in.Price, "/price")
	if err != nil {
		return order.PutProduct{}, err
	}
	cmd := order.PutProduct{SKU: sku, Name: in.Name, Price: price, OnHand: in.OnHand}
	cmd.MustExist, cmd.Versions, err = decodeIfMatch(r)
	return cmd, err
}

func (a *api) putProduct(ctx context.Context, actor core.Actor, cmd order.PutProduct) (*success, error) {
	p, created, err := a.Orders.PutProduct(ctx, actor, cmd)
	if err != nil {
		return nil, err
	}
	done := &success{status: http.StatusOK, header: http.Header{"Etag": {etagOf(p.Version)}}, body: productOut(p)}
	if created {
		done.status, done.location = http.StatusCreated, "/products/"+p.SKU
	}
	return done, nil
}

func (a *api) getProduct(ctx context.Context, _ core.Actor, sku string) (*success, error) {
	p, err := a.Orders.GetProduct(ctx, sku)
	if err != nil {
		return nil, err
	}
	return &success{status: http.StatusOK, header: http.Header{"Etag": {etagOf(p.Version)}}, body: productOut(p)}, nil
}

func (a *api) listProducts(ctx context.Context, _ core.Actor, page core.Page) (*success, error) {
	products, next, err := a.Orders.ListProducts(ctx, page)
	if err != nil {
		return nil, err
	}
	body := wire.ProductPage{Data: each(products, productOut), NextCursor: encodeCursor(next)}
	return &success{status: http.StatusOK, body: body}, nil
}

func productOut(p *order.Product) wire.Product {
	return wire.Product{
		SKU: p.SKU, SellerID: p.SellerID, Name: p.Name, Price: moneyOut(p.Price),
		OnHand: p.OnHand, Reserved: p.Reserved, Available: p.Available(), CreatedAt: p.CreatedAt,
	}
}

func decodeAdjustStock(r *request) (order.AdjustStock, error) {
	sku, err := decodeSKU(r)
	if err != nil {
		return order.AdjustStock{}, err
	}
	in, err := bodyOf[wire.AdjustStockRequest](r)
	if err != nil {
		return order.AdjustStock{}, err
	}
	cmd := order.AdjustStock{SKU: sku, Change: in.Change, Reason: valueOf(in.Reason), Key: r.key}
	return cmd, cmd.Validate()
}

func (a *api) adjustStock(ctx context.Context, actor core.Actor, cmd order.AdjustStock) (*success, error) {
	adjustment, repeated, err := a.Orders.AdjustStock(ctx, actor, cmd)
	if err != nil {
		return nil, err
	}
	return &success{status: http.StatusCreated, body: stockAdjustmentOut(adjustment), repeated: repeated}, nil
}

func stockAdjustmentOut(a *order.StockAdjustment) wire.StockAdjustment {
	return wire.StockAdjustment{
		ID: a.ID, SKU: a.SKU, Change: a.Change, OnHand: a.OnHand, Reason: orNull(a.Reason), CreatedAt: a.CreatedAt,
	}
}
