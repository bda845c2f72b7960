package httpapi

import (
	"context"
	"net/http"

	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core/order"
)

func (a *api) putProduct(ctx context.Context, r *request) (*response, error) {
	in, err := bodyOf[wire.PutProductRequest](r)
	if err != nil {
		return nil, err
	}
	price, err := moneyIn(in.Price, "/price")
	if err != nil {
		return nil, err
	}
	sku, err := r.sku()
	if err != nil {
		return nil, err
	}
	p, created, err := a.Orders.PutProduct(ctx, r.actor, order.PutProduct{SKU: sku, Name: in.Name, Price: price, OnHand: in.OnHand})
	if err != nil {
		return nil, err
	}
	if created {
		return &response{status: http.StatusCreated, location: "/products/" + sku, body: productOut(p)}, nil
	}
	return &response{status: http.StatusOK, body: productOut(p)}, nil
}

func (a *api) getProduct(ctx context.Context, r *request) (*response, error) {
	sku, err := r.sku()
	if err != nil {
		return nil, err
	}
	p, err := a.Orders.GetProduct(ctx, sku)
	if err != nil {
		return nil, err
	}
	return &response{status: http.StatusOK, body: productOut(p)}, nil
}

func (a *api) listProducts(ctx context.Context, r *request) (*response, error) {
	page, err := r.page()
	if err != nil {
		return nil, err
	}
	products, next, err := a.Orders.ListProducts(ctx, page)
	if err != nil {
		return nil, err
	}
	return &response{status: http.StatusOK, body: wire.ProductPage{Data: all(products, productOut), NextCursor: cursorOut(next)}}, nil
}

func productOut(p *order.Product) wire.Product {
	return wire.Product{
		SKU: p.SKU, SellerID: p.SellerID, Name: p.Name, Price: moneyOut(p.Price),
		OnHand: p.OnHand, Reserved: p.Reserved, Available: p.Available(),
	}
}
