package e2e

import "time"

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
