package httpapi

import (
	"context"
	"maps"
	"net/http"

	"example.com/orders/internal/adapters/in/http/etag"
	"example.com/orders/internal/adapters/in/http/problem"
	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
)

func decodePutProduct(r *request) (order.PutProduct, error) {
	sku, invalidSKU := decodeSKU(r)
	in, err := bodyOf[wire.PutProductRequest](r)
	if err != nil {
		return order.PutProduct{}, err
	}
	price, invalidPrice := decodeMoney(in.Price, "/price")
	cmd := order.PutProduct{SKU: sku, Name: in.Name, Price: price, OnHand: in.OnHand}
	cmd.MustExist, cmd.Versions, err = decodeIfMatch(r)
	return cmd, problem.Join(invalidSKU, invalidPrice, err)
}

func (a *api) putProduct(ctx context.Context, actor core.Actor, cmd order.PutProduct) (*success, error) {
	p, created, err := a.Orders.PutProduct(ctx, actor, cmd)
	if err != nil {
		return nil, err
	}
	done := showProduct(p)
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
	return showProduct(p), nil
}

func showProduct(p *order.Product) *success {
	header := http.Header{"Etag": {etag.Of(p.Version)}}
	return &success{status: http.StatusOK, header: header, body: productOut(p)}
}

func (a *api) listProducts(ctx context.Context, _ core.Actor, page core.Page) ([]*order.Product, *core.Position, error) {
	return a.Orders.ListProducts(ctx, page)
}

func productOut(p *order.Product) wire.Product {
	return wire.Product{
		SKU: p.SKU, SellerID: p.SellerID, Name: p.Name, Price: moneyOut(p.Price),
		OnHand: p.OnHand, Reserved: p.Reserved, Available: p.Available(), CreatedAt: p.CreatedAt,
	}
}

func decodeAdjustStock(r *request) (order.AdjustStock, error) {
	sku, invalidSKU := decodeSKU(r)
	in, err := bodyOf[wire.AdjustStockRequest](r)
	if err != nil {
		return order.AdjustStock{}, err
	}
	cmd := order.AdjustStock{
		SKU: sku, Change: in.Change,
		Reason: valueOf(in.Reason), Reference: valueOf(in.Reference), Key: r.key,
	}
	return cmd, problem.Join(invalidSKU, cmd.Validate())
}

func showStockAdjustment(a *order.StockAdjustment) *success {
	return &success{status: http.StatusCreated, body: wire.StockAdjustment{
		ID: a.ID, SKU: a.SKU, Change: a.Change, OnHand: a.OnHand,
		Reason: orNull(a.Reason), Reference: orNull(a.Reference), CreatedAt: a.CreatedAt,
	}}
}

// decodeIfMatch reports whether the resource must exist, and returns the versions that it
// may have, any if there are none; see [etag.ParseIfMatch].
func decodeIfMatch(r *request) (mustExist bool, versions []int64, err error) {
	values := r.http.Header.Values("If-Match")
	if len(values) == 0 {
		return false, nil, nil
	}
	versions, valid := etag.ParseIfMatch(values)
	if !valid {
		return false, nil, problem.New(wire.ProblemCodeMalformedRequest,
			`If-Match must be * or a list of entity tags in double quotes, such as "3"`)
	}
	return true, versions, nil
}

// apiPolicy is the Content-Security-Policy for everything but the documentation page: a
// browser that shows a response loads no resource and runs no script.
const apiPolicy = "default-src 'none'; frame-ancestors 'none'"

// secureHeaders are the security headers. All responses share these slices, which must
// not change.
var secureHeaders = http.Header{
	"Cache-Control":           {"no-store"}, // a response is about one principal
	"Content-Security-Policy": {apiPolicy},
	"Referrer-Policy":         {"no-referrer"},
	"X-Content-Type-Options":  {"nosniff"},
	"X-Frame-Options":         {"DENY"},
}

// strictTransport makes browsers use TLS for a year. A proxy that ends TLS has to send it
// by itself, because only the proxy knows that it does.
const strictTransport = "max-age=31536000"

// SecureHeaders sets the security headers on every response, including replays and
// refusals. A route that may be cached, or is a page, replaces them.
func SecureHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setSecureHeaders(w, r)
		next.ServeHTTP(w, r)
	})
}

func setSecureHeaders(w http.ResponseWriter, r *http.Request) {
	maps.Copy(w.Header(), secureHeaders)
	if r.TLS != nil {
		w.Header().Set("Strict-Transport-Security", strictTransport)
	}
}
