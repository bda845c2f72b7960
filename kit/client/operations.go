package client

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"example.com/orders/kit/client/api"
)

// Results of commands: the resource and the outcome.
type (
	// OrderResult is an order that a command created or changed.
	OrderResult struct {
		Order
		Outcome
	}
	// PaymentResult is a payment that a command created.
	PaymentResult struct {
		Payment
		Outcome
	}
	// RefundResult is a refund that a command created.
	RefundResult struct {
		Refund
		Outcome
	}
	// BalanceResult is a balance transaction that a command created.
	BalanceResult struct {
		BalanceTransaction
		Outcome
	}
	// StockResult is a stock adjustment that a command created.
	StockResult struct {
		StockAdjustment
		Outcome
	}
)

// --- commands: each takes effect once per operation name ---

// CreateOrder creates an order and reserves stock.
func (c *Client) CreateOrder(ctx context.Context, operation string, order NewOrder) (OrderResult, error) {
	made, outcome, err := command[Order](ctx, c, operation, to(api.CreateOrder).with(order))
	return OrderResult{made, outcome}, err
}

// ReserveInventory extends an order reservation, or reserves the stock again.
func (c *Client) ReserveInventory(ctx context.Context, operation string, orderID int64) (OrderResult, error) {
	order, outcome, err := command[Order](ctx, c, operation, to(api.ReserveInventory, orderID).with(struct{}{}))
	return OrderResult{order, outcome}, err
}

// ConfirmPayment pays an order. A card payment is processing at first: see
// [Client.AwaitPayment].
func (c *Client) ConfirmPayment(ctx context.Context, operation string, orderID int64, method PaymentMethod) (PaymentResult, error) {
	made, outcome, err := command[Payment](ctx, c, operation, to(api.ConfirmPayment, orderID).with(method.confirmation))
	return PaymentResult{made, outcome}, err
}

// RefundPayment refunds an amount of an order. A refund to a card is pending at first: see
// [Client.AwaitRefund].
func (c *Client) RefundPayment(ctx context.Context, operation string, orderID int64, refund RefundOf) (RefundResult, error) {
	if err := requirePositive(refund.Amount); err != nil {
		return RefundResult{}, err
	}
	made, outcome, err := command[Refund](ctx, c, operation, to(api.RefundPayment, orderID).with(refund))
	return RefundResult{made, outcome}, err
}

// RefundPaymentInFull refunds everything of an order that is still refundable, and cancels
// the order if it has not been shipped.
func (c *Client) RefundPaymentInFull(ctx context.Context, operation string, orderID int64, refund FullRefund) (RefundResult, error) {
	body := api.FullRefundRequest{Full: true, Reason: refund.Reason, Reference: refund.Reference}
	made, outcome, err := command[Refund](ctx, c, operation, to(api.RefundPayment, orderID).with(body))
	return RefundResult{made, outcome}, err
}

// CancelOrder cancels an order and refunds the payment.
func (c *Client) CancelOrder(ctx context.Context, operation string, orderID int64, how Cancellation) (OrderResult, error) {
	order, outcome, err := command[Order](ctx, c, operation, to(api.CancelOrder, orderID).with(how))
	return OrderResult{order, outcome}, err
}

// CreditBalance adds to a customer balance.
func (c *Client) CreditBalance(ctx context.Context, operation, customerID string, credit Credit) (BalanceResult, error) {
	if err := requirePositive(credit.Amount); err != nil {
		return BalanceResult{}, err
	}
	made, outcome, err := command[BalanceTransaction](ctx, c, operation, to(api.CreditBalance, customerID).with(credit))
	return BalanceResult{made, outcome}, err
}

// ChargeBalance takes from a customer balance.
func (c *Client) ChargeBalance(ctx context.Context, operation, customerID string, charge Charge) (BalanceResult, error) {
	if err := requirePositive(charge.Amount); err != nil {
		return BalanceResult{}, err
	}
	made, outcome, err := command[BalanceTransaction](ctx, c, operation, to(api.ChargeBalance, customerID).with(charge))
	return BalanceResult{made, outcome}, err
}

// AdjustStock adds units to a product's stock, or takes them away.
func (c *Client) AdjustStock(ctx context.Context, operation, sku string, change StockChange) (StockResult, error) {
	made, outcome, err := command[StockAdjustment](ctx, c, operation, to(api.AdjustStock, sku).with(change))
	return StockResult{made, outcome}, err
}

// requirePositive refuses an amount that its caller forgot to set.
func requirePositive(amount Money) error {
	if strings.Trim(amount.Amount, "0.") == "" || amount.Currency == "" {
		return errors.New("client: Amount must be greater than zero and have a currency")
	}
	return nil
}

// --- changes without a key: repeated only where the service says that this does no harm ---

// UpdateOrderStatus moves a paid order to the next status: OrderFulfilling, OrderShipped or
// OrderDelivered.
func (c *Client) UpdateOrderStatus(ctx context.Context, orderID int64, status string) (Order, error) {
	body := api.UpdateOrderStatusRequest{Status: api.FulfilmentStatus(status)}
	order, _, err := call[Order](ctx, c, to(api.UpdateOrderStatus, orderID).with(body))
	return order, err
}

// UpdateCustomerProfile replaces a customer profile.
func (c *Client) UpdateCustomerProfile(ctx context.Context, customerID string, profile ProfileUpdate) (Profile, error) {
	updated, _, err := call[Profile](ctx, c, to(api.UpdateCustomerProfile, customerID).with(profile))
	return updated, err
}

// DeleteCustomerProfile deletes a customer's personal data.
func (c *Client) DeleteCustomerProfile(ctx context.Context, customerID string) error {
	_, _, err := call[struct{}](ctx, c, to(api.DeleteCustomerProfile, customerID))
	return err
}

// ProductVersion is a product with the version of name, price and stock.
type ProductVersion struct {
	Product
	ETag string
}

// PutProduct creates or replaces a product. To replace an existing product's stock, set OnHand
// and pass the ETag that the caller has seen as ifMatch. Otherwise leave both out.
func (c *Client) PutProduct(ctx context.Context, sku string, product ProductUpdate, ifMatch string) (ProductVersion, error) {
	r := to(api.PutProduct, sku).with(product)
	if ifMatch != "" {
		r.header = http.Header{"If-Match": {ifMatch}}
	}
	updated, header, err := call[Product](ctx, c, r)
	return ProductVersion{updated, header.Get("ETag")}, err
}

// --- queries ---

// GetOrder returns an order.
func (c *Client) GetOrder(ctx context.Context, orderID int64) (Order, error) {
	order, _, err := call[Order](ctx, c, to(api.GetOrderByID, orderID))
	return order, err
}

// GetPayment returns a payment.
func (c *Client) GetPayment(ctx context.Context, paymentID int64) (Payment, error) {
	payment, _, err := call[Payment](ctx, c, to(api.GetPayment, paymentID))
	return payment, err
}

// GetRefund returns a refund.
func (c *Client) GetRefund(ctx context.Context, refundID int64) (Refund, error) {
	refund, _, err := call[Refund](ctx, c, to(api.GetRefund, refundID))
	return refund, err
}

// GetBalance returns a customer balance, one amount per currency.
func (c *Client) GetBalance(ctx context.Context, customerID string) (Balance, error) {
	balance, _, err := call[Balance](ctx, c, to(api.GetBalance, customerID))
	return balance, err
}

// GetCustomerProfile returns a customer profile.
func (c *Client) GetCustomerProfile(ctx context.Context, customerID string) (Profile, error) {
	profile, _, err := call[Profile](ctx, c, to(api.GetCustomerProfile, customerID))
	return profile, err
}

// GetProduct returns a product.
func (c *Client) GetProduct(ctx context.Context, sku string) (ProductVersion, error) {
	product, header, err := call[Product](ctx, c, to(api.GetProduct, sku))
	return ProductVersion{product, header.Get("ETag")}, err
}

// GetIdempotencyKey returns the outcome of the operation with a key. [NotFound] means that
// there is no record: a request with the key may still be on its way. Calling a command again
// under the same name also returns the result.
func (c *Client) GetIdempotencyKey(ctx context.Context, key string) (IdempotencyRecord, error) {
	record, _, err := call[IdempotencyRecord](ctx, c, to(api.GetIdempotencyKey, key))
	return record, err
}

// call sends a request without a key.
func call[T any](ctx context.Context, c *Client, r request) (result T, header http.Header, err error) {
	header, err = c.do(ctx, r, into(&result))
	return result, header, err
}
