package order

import (
	"context"
	"fmt"
	"time"

	"example.com/orders/internal/core"
)

// CreateOrder is the command to create an order. Prices come from the products, never
// from the caller.
type CreateOrder struct {
	// CustomerID may be empty when customers order for themselves.
	CustomerID string
	// Reference is an optional id from the caller.
	Reference string
	Items     []Item
	Key       string
}

// Item is a product and a quantity.
type Item struct {
	SKU      string
	Quantity int
}

// CreateOrder creates an order and reserves stock for all lines, or fails. If the same
// operation already created the order, it only returns that order and true (AUTH-19,
// second line of defence).
//
// Refusals: forbidden_resource, validation_failed, reference_taken, unknown_sku,
// mixed_currencies, mixed_sellers, unpaid_orders_limit, out_of_stock,
// idempotency_key_reused.
func (s *Service) CreateOrder(ctx context.Context, actor core.Actor, cmd CreateOrder) (*Order, bool, error) {
	if err := cmd.Validate(actor); err != nil {
		return nil, false, err
	}
	customerID, grant, err := allowOrdering(actor, cmd.CustomerID)
	if err != nil {
		return nil, false, err
	}
	by := core.Operation{Actor: actor.Subject, Key: cmd.Key}
	var o *Order
	var repeated bool
	err = s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		basket, err := tx.Orders.Basket(ctx, BasketQuery{
			CustomerID: customerID, Reference: cmd.Reference, By: by, SKUs: cmd.skus(), Grant: grant,
			CountUnpaid: s.MaxUnpaidOrders,
		})
		if err != nil {
			return err
		}
		if o, repeated = basket.Prior, basket.Prior != nil; repeated {
			return o.repeats(cmd)
		}
		if err := basket.allowsAnother(s.MaxUnpaidOrders); err != nil {
			return err
		}
		o, err = newOrder(cmd.Items, basket.Stock)
		if err != nil {
			return err
		}
		o.CustomerID, o.Reference, o.CreatedBy = customerID, cmd.Reference, by
		if _, err := grant.Authorise(o.Owners()); err != nil {
			return err
		}
		if err := tx.openOrder(ctx, o, basket.Stock, s.ReservationTTL); err != nil {
			return err
		}
		return core.AuditChange(ctx, tx.AuditLog, actor, "CreateOrder",
			Resource(o.ID), o.Owners().Metadata().WithAmount(o.Total))
	})
	return o, repeated, err
}

// Validate refuses commands that can never succeed, regardless of stored data: an order
// that the actor may not place, or a duplicate SKU.
func (cmd CreateOrder) Validate(actor core.Actor) error {
	if _, _, err := allowOrdering(actor, cmd.CustomerID); err != nil {
		return err
	}
	seen := make(map[string]bool, len(cmd.Items))
	var repeated []core.FieldFault
	for i, item := range cmd.Items {
		if seen[item.SKU] {
			repeated = append(repeated, core.FieldFault{
				Pointer: fmt.Sprintf("/items/%d/sku", i), Detail: "duplicate SKU; use one item with the total quantity",
			})
		}
		seen[item.SKU] = true
	}
	if repeated == nil {
		return nil
	}
	return core.InvalidFields(repeated)
}

func (cmd CreateOrder) skus() []string {
	skus := make([]string, len(cmd.Items))
	for i, item := range cmd.Items {
		skus[i] = item.SKU
	}
	return skus
}

// repeats refuses a retry that asks for a different order than the first request did.
func (o *Order) repeats(cmd CreateOrder) error {
	if !o.sameItems(cmd.Items) || o.Reference != cmd.Reference {
		return core.KeyReused()
	}
	return nil
}

// allowsAnother refuses a reference that the actor has already used for the customer,
// and an order beyond maxUnpaid (0 means no limit). Both count only orders that this
// actor created: otherwise a seller, who may order for any customer, could keep that
// customer from ordering.
func (b Basket) allowsAnother(maxUnpaid int) error {
	if b.ReferenceTaken {
		return core.ReferenceTaken("you have already created an order of this customer")
	}
	if maxUnpaid > 0 && b.Unpaid >= maxUnpaid {
		return core.Refuse(core.CodeUnpaidOrdersLimit, fmt.Sprintf(
			"the customer already has %d unpaid orders; pay or cancel one of them", b.Unpaid))
	}
	return nil
}

// newOrder returns an order at current product prices.
func newOrder(items []Item, stock Stock) (*Order, error) {
	o := &Order{Status: PendingPayment, New: true}
	for _, item := range items {
		p, known := stock[item.SKU]
		if !known {
			return nil, core.Refuse(core.CodeUnknownSKU, "there is no product "+item.SKU)
		}
		if err := o.add(p, item.Quantity); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// add appends a line to a new order. The first line sets the currency and seller of the
// order.
func (o *Order) add(p *Product, quantity int) error {
	if len(o.Lines) == 0 {
		o.SellerID, o.Total = p.SellerID, core.Zero(p.Price.Currency())
	}
	if p.SellerID != o.SellerID {
		return core.Refuse(core.CodeMixedSellers, "all products of an order must have the same seller")
	}
	if p.Price.Currency() != o.Total.Currency() {
		return core.Refuse(core.CodeMixedCurrencies, "all products of an order must have the same currency")
	}
	o.Lines = append(o.Lines, Line{SKU: p.SKU, Quantity: quantity, UnitPrice: p.Price})
	price, err := p.Price.Times(quantity)
	if err == nil {
		o.Total, err = o.Total.Add(price)
	}
	if err != nil {
		return core.InvalidField("/items", "the total of the order is too large")
	}
	return nil
}

// openOrder reserves the stock of a new order and saves both.
func (tx Tx) openOrder(ctx context.Context, o *Order, stock Stock, ttl time.Duration) error {
	if err := o.open(stock, tx.Now, ttl); err != nil {
		return err
	}
	var err error
	if o.ID, err = tx.IDs.NextID(ctx, core.OrderIDs); err != nil {
		return err
	}
	return tx.SaveOrder(ctx, o, stock, EventCreated)
}

// open reserves the stock and sets the times.
func (o *Order) open(stock Stock, now time.Time, ttl time.Duration) error {
	if err := stock.reserve(o.Lines); err != nil {
		return err
	}
	o.ReservedUntil = now.Add(ttl)
	o.Version, o.CreatedAt, o.UpdatedAt = 1, now, now
	return nil
}
