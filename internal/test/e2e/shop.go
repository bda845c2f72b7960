package e2e

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"example.com/orders/internal/core/order"
)

// Stock is the initial number of units by product.
type Stock map[string]int

// initialStock maps products to the units with which each was first put.
type initialStock = sync.Map

// PutProduct puts a new product into the shop for 100.00 RUB.
func (s *Service) PutProduct(t testing.TB, sku string, onHand int) Product {
	t.Helper()
	return s.PutProductOf(t, Shop, sku, onHand)
}

// PutProductOf is [Service.PutProduct] for a given seller.
func (s *Service) PutProductOf(t testing.TB, seller, sku string, onHand int) Product {
	t.Helper()
	p := Want[Product](t, s, http.StatusCreated, s.PutProductCall(t, sku, seller, Roubles("100.00"), onHand))
	s.stock.LoadOrStore(sku, onHand)
	return p
}

// AdjustStock changes the stock of a product in the shop.
func (s *Service) AdjustStock(t testing.TB, sku string, change int) StockAdjustment {
	t.Helper()
	return Want[StockAdjustment](t, s, http.StatusCreated, s.AdjustStockCall(s.SellerToken(t), sku, change))
}

// ReadProduct reads a product.
func (s *Service) ReadProduct(t testing.TB, sku string) Product {
	t.Helper()
	return Want[Product](t, s, http.StatusOK, Get(s.SellerToken(t), "/products/"+sku))
}

// WantStock checks the stock of a product.
func (s *Service) WantStock(t testing.TB, sku string, onHand, reserved int) {
	t.Helper()
	if p := s.ReadProduct(t, sku); p.OnHand != onHand || p.Reserved != reserved || p.Available != onHand-reserved {
		t.Errorf("%s: %d on hand, %d reserved, %d available; want %d, %d and %d",
			sku, p.OnHand, p.Reserved, p.Available, onHand, reserved, onHand-reserved)
	}
}

// Credit credits a customer with roubles.
func (s *Service) Credit(t testing.TB, customer, amount string) {
	t.Helper()
	Want[Transaction](t, s, http.StatusCreated, s.CreditCall(t, customer, amount))
}

// ReadBalance reads a customer balance in roubles, "" if it is missing.
func (s *Service) ReadBalance(t testing.TB, customer string) string {
	t.Helper()
	b := Want[struct{ Balances []Money }](t, s, http.StatusOK,
		Get(s.Token(t, customer, "customer"), "/customers/"+customer+"/balance"))
	for _, m := range b.Balances {
		if m.Currency == "RUB" {
			return m.Amount
		}
	}
	return ""
}

// WantBalance checks a customer balance in roubles.
func (s *Service) WantBalance(t testing.TB, customer, amount string) {
	t.Helper()
	if got := s.ReadBalance(t, customer); got != amount {
		t.Errorf("the balance of %s is %q, want %q", customer, got, amount)
	}
}

// MustCreateOrder creates an order of one product.
func (s *Service) MustCreateOrder(t testing.TB, customer, sku string, quantity int) Order {
	t.Helper()
	return Want[Order](t, s, http.StatusCreated, s.CreateOrderCall(t, customer, sku, quantity))
}

// MustPay credits the customer with the order total and pays the order from the
// balance.
func (s *Service) MustPay(t testing.TB, o Order) Payment {
	t.Helper()
	s.Credit(t, o.CustomerID, o.Total.Amount)
	return Want[Payment](t, s, http.StatusOK, s.ConfirmCall(t, o.CustomerID, o.ID))
}

// MustCreatePaidOrder creates an order and pays it, as [Service.MustPay] does.
func (s *Service) MustCreatePaidOrder(t testing.TB, customer, sku string, quantity int) Order {
	t.Helper()
	o := s.MustCreateOrder(t, customer, sku, quantity)
	s.MustPay(t, o)
	return s.ReadOrder(t, o.ID)
}

// MustCreateOrderIn creates an order for two units and takes it to a status.
func (s *Service) MustCreateOrderIn(t testing.TB, status order.Status, customer, sku string) Order {
	t.Helper()
	o := s.MustCreateOrder(t, customer, sku, 2)
	switch status {
	case order.PendingPayment:
	case order.PaymentProcessing:
		pay := s.ConfirmCall(t, customer, o.ID).WithBody(`{"method": "card", "payment_method": "pm_card_visa"}`)
		Want[Payment](t, s.StartReplica(t, CardSettings(SilentProvider)...), http.StatusOK, pay)
	case order.Cancelled:
		Want[Order](t, s, http.StatusOK, s.CancelCall(s.Token(t, customer, "customer"), o.ID))
	default:
		s.MustPay(t, o)
		s.fulfilUntil(t, o.ID, status)
	}
	o = s.ReadOrder(t, o.ID)
	if o.Status != string(status) {
		t.Fatalf("the order is %s, want %s", o.Status, status)
	}
	return o
}

func (s *Service) fulfilUntil(t testing.TB, orderID int, status order.Status) {
	t.Helper()
	at := order.Paid
	for _, next := range []order.Status{order.Fulfilling, order.Shipped, order.Delivered} {
		if at == status {
			return
		}
		Want[Order](t, s, http.StatusOK, StatusCall(s.SellerToken(t), orderID, string(next)))
		at = next
	}
}

// ReadOrder reads an order as the shop.
func (s *Service) ReadOrder(t testing.TB, orderID int) Order {
	t.Helper()
	return Want[Order](t, s, http.StatusOK, Get(s.SellerToken(t), fmt.Sprintf("/orders/%d", orderID)))
}

// WantOrderStatus checks an order status as the shop.
func (s *Service) WantOrderStatus(t testing.TB, orderID int, status string) {
	t.Helper()
	if got := s.ReadOrder(t, orderID).Status; got != status {
		t.Errorf("order %d is %s, want %s", orderID, got, status)
	}
}

// ReadPayments reads the payments of an order as the shop.
func (s *Service) ReadPayments(t testing.TB, orderID int) []Payment {
	t.Helper()
	path := fmt.Sprintf("/orders/%d/payments", orderID)
	return Want[struct{ Data []Payment }](t, s, http.StatusOK, Get(s.SellerToken(t), path)).Data
}

// ExpireReservation moves the end of an order reservation into the past.
func (e *Env) ExpireReservation(t testing.TB, orderID int) {
	t.Helper()
	e.Exec(t, `UPDATE orders SET reserved_until = now() - interval '1 second'
		WHERE id = $1 AND reserved_until IS NOT NULL`, orderID)
}
