package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"
)

// PutProductCall puts a seller's new product or, with If-Match, an existing one.
func (e *Env) PutProductCall(t testing.TB, sku, seller string, price Money, onHand int) Call {
	t.Helper()
	return Call{
		Method: http.MethodPut, Path: "/products/" + sku, Token: e.Token(t, seller, "seller"), Body: fmt.Sprintf(
			`{"name": %q, "price": {"amount": %q, "currency": %q}, "on_hand": %d}`, sku, price.Amount, price.Currency, onHand),
	}
}

// PutPriceCall puts a seller's product and keeps the stock.
func (e *Env) PutPriceCall(t testing.TB, sku, seller string, price Money) Call {
	t.Helper()
	return e.PutProductCall(t, sku, seller, price, 0).WithBody(fmt.Sprintf(
		`{"name": %q, "price": {"amount": %q, "currency": %q}}`, sku, price.Amount, price.Currency))
}

// AdjustStockCall adjusts the stock of a product, with a new key.
func (e *Env) AdjustStockCall(token, sku string, change int) Call {
	return Call{
		Method: http.MethodPost, Path: "/products/" + sku + "/stock", Token: token, Key: e.NewKey(),
		Body: fmt.Sprintf(`{"change": %d}`, change),
	}
}

// CreditCall credits a customer with roubles, with a new key.
func (e *Env) CreditCall(t testing.TB, customer, amount string) Call {
	t.Helper()
	return e.balanceCall(t, customer, "credit", amount)
}

// ChargeCall charges a customer roubles, with a new key.
func (e *Env) ChargeCall(t testing.TB, customer, amount string) Call {
	t.Helper()
	return e.balanceCall(t, customer, "charge", amount)
}

func (e *Env) balanceCall(t testing.TB, customer, kind, amount string) Call {
	t.Helper()
	return Call{
		Method: http.MethodPost, Path: "/customers/" + customer + "/balance/" + kind, Token: e.SystemToken(t), Key: e.NewKey(),
		Body: fmt.Sprintf(`{"amount": {"amount": %q, "currency": "RUB"}}`, amount),
	}
}

// CreateOrderCall orders one product for a customer, with a new key.
func (e *Env) CreateOrderCall(t testing.TB, customer, sku string, quantity int) Call {
	t.Helper()
	return Call{
		Method: http.MethodPost, Path: "/orders", Token: e.Token(t, customer, "customer"), Key: e.NewKey(),
		Body: fmt.Sprintf(`{"items": [{"sku": %q, "quantity": %d}]}`, sku, quantity),
	}
}

// OrderCommand runs a guarded command on an order, with a new key.
func (e *Env) OrderCommand(token string, orderID int, command, body string) Call {
	return Call{
		Method: http.MethodPost, Path: fmt.Sprintf("/orders/%d/%s", orderID, command),
		Token: token, Key: e.NewKey(), Body: body,
	}
}

// ReserveCall extends an order reservation, with a new key.
func (e *Env) ReserveCall(token string, orderID int) Call {
	return e.OrderCommand(token, orderID, "reservation", "")
}

// ConfirmCall pays an order from the customer balance, with a new key.
func (e *Env) ConfirmCall(t testing.TB, customer string, orderID int) Call {
	t.Helper()
	return e.OrderCommand(e.Token(t, customer, "customer"), orderID, "payment/confirm", `{"method": "balance"}`)
}

// CardCall pays Alice's order by card, with a new key.
func (e *Env) CardCall(t testing.TB, orderID int, cardToken string) Call {
	t.Helper()
	return e.ConfirmCall(t, Alice, orderID).WithBody(fmt.Sprintf(`{"method": "card", "payment_method": %q}`, cardToken))
}

// RefundCall refunds roubles, with a new key. Without an amount it asks for a full
// refund.
func (e *Env) RefundCall(token string, orderID int, amount string) Call {
	body := `{"full": true}`
	if amount != "" {
		body = fmt.Sprintf(`{"amount": {"amount": %q, "currency": "RUB"}}`, amount)
	}
	return e.OrderCommand(token, orderID, "payment/refund", body)
}

// CancelCall cancels an order, with a new key.
func (e *Env) CancelCall(token string, orderID int) Call {
	return e.OrderCommand(token, orderID, "cancel", `{"reason": "changed my mind"}`)
}

// StatusCall changes an order status. It needs no key.
func StatusCall(token string, orderID int, status string) Call {
	return Call{
		Method: http.MethodPatch, Path: fmt.Sprintf("/orders/%d/status", orderID),
		Token: token, Body: fmt.Sprintf(`{"status": %q}`, status),
	}
}

// LookupCall looks up a key.
func LookupCall(token, key string) Call {
	return Get(token, "/idempotency-keys/"+url.PathEscape(key))
}

// Money is an amount as the API writes it.
type Money struct{ Amount, Currency string }

// Roubles returns an amount of roubles.
func Roubles(amount string) Money { return Money{Amount: amount, Currency: "RUB"} }

// Page is a page from any list.
type Page[T any] struct {
	Data       []T
	NextCursor *string `json:"next_cursor"`
}

// Product holds the product members that tests read.
type Product struct {
	SKU                 string
	OnHand              int `json:"on_hand"`
	Reserved, Available int
	SellerID            string `json:"seller_id"`
	Price               Money
}

// StockAdjustment holds the adjustment members that tests read.
type StockAdjustment struct {
	ID     int
	SKU    string
	Change int
	OnHand int `json:"on_hand"`
	Reason *string
}

// Order holds the order members that tests read.
type Order struct {
	ID          int
	CustomerID  string `json:"customer_id"`
	SellerID    string `json:"seller_id"`
	Status      string
	Total       Money
	Reservation *struct {
		ExpiresAt time.Time `json:"expires_at"`
	}
	Version int
}

// Payment holds the payment members that tests read. Refunds and Refunded are in lists
// only.
type Payment struct {
	ID       int
	OrderID  int `json:"order_id"`
	Amount   Money
	Status   string
	Failure  *string
	Refunded Money
	Refunds  []Refund
	Dispute  *Dispute
}

// Dispute is a dispute of a payment.
type Dispute struct {
	ID, Amount, Currency, Reason, Status string
	DueBy                                *string `json:"due_by"`
}

// Reason returns why the payment failed, or "".
func (p Payment) Reason() string {
	if p.Failure == nil {
		return ""
	}
	return *p.Failure
}

// Refund holds the refund members that tests read.
type Refund struct {
	ID        int
	PaymentID int `json:"payment_id"`
	OrderID   int `json:"order_id"`
	Amount    Money
	Status    string
	Reason    string
	MadeBy    string `json:"made_by"`
	Failure   *string
}

// Transaction holds the balance transaction members that tests read.
type Transaction struct {
	ID           int
	Kind         string
	Amount       Money
	BalanceAfter Money `json:"balance_after"`
}

// AuditEntry holds the audit log members that tests read.
type AuditEntry struct {
	ID                      int
	Actor, Action, Resource string
	Metadata                map[string]string
}
