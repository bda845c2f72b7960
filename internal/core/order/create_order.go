package order

import (
	"context"
	"fmt"
	"time"

	"example.com/orders/internal/core"
)

// Service is the use cases about orders and products.
type Service struct {
	Store Store
	// ReservationTTL is how long stock is held for an order that waits for payment.
	ReservationTTL time.Duration
}

// CreateOrder asks for an order. Prices are the products', never the caller's.
type CreateOrder struct {
	// CustomerID may be empty when a customer orders for themselves.
	CustomerID string
	Items      []Item
	Key        string
}

// Item is a quantity of a product.
type Item struct {
	SKU      string
	Quantity int
}

// CreateOrder makes an order and holds its stock, all of it or none. The flag tells
// that the same operation had made the order before, and nothing happened now
// (AUTH-19, the second line).
//
// Refusals: forbidden_resource, validation_failed, unknown_sku, mixed_currencies,
// mixed_sellers, out_of_stock, idempotency_key_reused.
func (s *Service) CreateOrder(ctx context.Context, actor core.Actor, cmd CreateOrder) (*Order, bool, error) {
	customerID, err := allowOrdering(actor, cmd.CustomerID)
	if err != nil {
		return nil, false, err
	}
	if err := cmd.validate(); err != nil {
		return nil, false, err
	}
	by := core.Operation{Actor: actor.Subject, Key: cmd.Key}
	var o *Order
	var repeated bool
	err = s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		basket, err := tx.Orders.Basket(ctx, customerID, by, cmd.skus())
		if err != nil {
			return err
		}
		if o, repeated = basket.Prior, basket.Prior != nil; repeated {
			return o.repeats(cmd)
		}
		o, err = place(cmd.Items, basket.Stock)
		if err != nil {
			return err
		}
		o.CustomerID, o.CreatedBy = customerID, by
		if err := allowSelling(actor, o); err != nil {
			return err
		}
		if err := o.open(basket.Stock, tx.Now, s.ReservationTTL); err != nil {
			return err
		}
		if err := tx.saveNew(ctx, o, basket.Stock); err != nil {
			return err
		}
		return core.AuditChange(ctx, tx.Journal, actor, "CreateOrder", Resource(o.ID), nil)
	})
	return o, repeated, err
}

// validate checks what a schema cannot: that no product stands twice.
func (cmd CreateOrder) validate() error {
	seen := make(map[string]bool, len(cmd.Items))
	for i, item := range cmd.Items {
		if seen[item.SKU] {
			return core.InvalidField(fmt.Sprintf("/items/%d/sku", i), "stands more than once in the order")
		}
		seen[item.SKU] = true
	}
	return nil
}

func (cmd CreateOrder) skus() []string {
	skus := make([]string, len(cmd.Items))
	for i, item := range cmd.Items {
		skus[i] = item.SKU
	}
	return skus
}

// repeats tells whether an order that exists is the one that cmd asks for.
func (o *Order) repeats(cmd CreateOrder) error {
	if !o.sameItems(cmd.Items) {
		return core.KeyReused()
	}
	return nil
}

// place makes an order of products at their prices of today.
func place(items []Item, stock Stock) (*Order, error) {
	o := &Order{Status: PendingPayment}
	for _, item := range items {
		p, known := stock[item.SKU]
		if !known {
			return nil, core.Refuse(core.Invalid, core.CodeUnknownSKU, "there is no product "+item.SKU)
		}
		if err := o.add(p, item.Quantity); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// add puts a line into an order that is being made. The first line decides the
// currency and the seller of all.
func (o *Order) add(p *Product, quantity int) error {
	if len(o.Lines) == 0 {
		o.SellerID, o.Total = p.SellerID, core.Zero(p.Price.Currency())
	}
	if p.SellerID != o.SellerID {
		return core.Refuse(core.Invalid, core.CodeMixedSellers, "the products of one order have one seller")
	}
	if p.Price.Currency() != o.Total.Currency() {
		return core.Refuse(core.Invalid, core.CodeMixedCurrencies, "the products of one order have one currency")
	}
	o.Lines = append(o.Lines, Line{SKU: p.SKU, Quantity: quantity, UnitPrice: p.Price})
	price, err := p.Price.Times(quantity)
	if err == nil {
		o.Total, err = o.Total.Add(price)
	}
	if err != nil {
		return core.InvalidField("/items", "the total is too large")
	}
	return nil
}

// open starts the life of the order: its stock is held.
func (o *Order) open(stock Stock, now time.Time, hold time.Duration) error {
	if err := stock.reserve(o.Lines); err != nil {
		return err
	}
	o.ReservedUntil = now.Add(hold)
	o.Version, o.CreatedAt, o.UpdatedAt = 1, now, now
	return nil
}

func (tx Tx) saveNew(ctx context.Context, o *Order, stock Stock) error {
	id, err := tx.IDs.NextID(ctx, core.OrderIDs)
	if err != nil {
		return err
	}
	o.ID = id
	return tx.SaveOrder(ctx, o, stock, "created")
}

// SaveOrder writes an order and the stock that changed with it, and publishes what happened to it.
func (tx Tx) SaveOrder(ctx context.Context, o *Order, stock Stock, what string) error {
	if len(stock) > 0 {
		if err := tx.Products.SaveStock(ctx, stock); err != nil {
			return err
		}
	}
	if err := tx.Orders.Save(ctx, o); err != nil {
		return err
	}
	return tx.Journal.Publish(ctx, o.Event(what))
}
