// Package tsclient provides shoppers that use the client in kit/client-ts while a proxy
// loses their requests. The tests have the build tag node, because they need Node.js:
// `make -C lab kit` runs them.
package tsclient

import (
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/test/e2e"
)

// Built is the folder with the built client and the test programs, relative to a
// package in lab/kit.
const Built = "../../../kit/client-ts"

// Operations is the number of operations per shopper: a credit, an order, the payment
// and a refund.
const Operations = 4

// Shopping is the input to the programs in kit/client-ts/test.
type Shopping struct {
	URL      string    `json:"url"`
	Bank     string    `json:"bank"`
	SKU      string    `json:"sku"`
	Shoppers []Shopper `json:"shoppers"`
}

// Shopper is a customer with a token.
type Shopper struct {
	Customer string `json:"customer"`
	Token    string `json:"token"`
}

// Receipt is their output: the numbers of successful and of replayed operations.
type Receipt struct {
	Operations int
	Replayed   int
}

// NewShopping returns n shoppers who reach the service at a URL, and order tea.
func NewShopping(t testing.TB, s *e2e.Service, url string, n int) Shopping {
	t.Helper()
	shopping := Shopping{URL: url, Bank: s.SystemToken(t), SKU: "tea"}
	for i := range n {
		customer := fmt.Sprintf("shopper-%d", i)
		shopping.Shoppers = append(shopping.Shoppers, Shopper{customer, s.Token(t, customer, "customer")})
	}
	return shopping
}

// NotOnce returns the operations that did not take effect exactly once, according to
// the database.
func (shopping Shopping) NotOnce(t testing.TB, s *e2e.Service) []string {
	t.Helper()
	var customers []string
	for _, shopper := range shopping.Shoppers {
		customers = append(customers, shopper.Customer)
	}
	rows, _ := s.DB.Query(t.Context(), `
		WITH effect AS (
			SELECT customer_id AS customer, 'credit' AS operation FROM ledger_entry WHERE kind = 'credit'
			UNION ALL SELECT customer_id, 'order' FROM orders
			UNION ALL SELECT o.customer_id, 'payment' FROM payment p JOIN orders o ON o.id = p.order_id WHERE p.status = 'captured'
			UNION ALL SELECT o.customer_id, 'refund' FROM refund r JOIN orders o ON o.id = r.order_id
		), intent AS (
			SELECT customer, operation
			FROM unnest($1::text[]) customer, unnest('{credit, order, payment, refund}'::text[]) operation
		)
		SELECT format('%s of %s: %s times', i.operation, i.customer, count(e.*))
		FROM intent i LEFT JOIN effect e USING (customer, operation)
		GROUP BY i.customer, i.operation HAVING count(e.*) <> 1`, customers)
	offenders, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(offenders)
	return offenders
}

// WantEachOnce checks that each operation succeeded, and took effect exactly once.
func (shopping Shopping) WantEachOnce(t testing.TB, s *e2e.Service, receipt Receipt) {
	t.Helper()
	if want := Operations * len(shopping.Shoppers); receipt.Operations != want {
		t.Errorf("%d operations succeeded, want %d", receipt.Operations, want)
	}
	if receipt.Replayed == 0 {
		t.Error("no answer was replayed: nothing was lost")
	}
	if offenders := shopping.NotOnce(t, s); len(offenders) > 0 {
		t.Errorf("%d operations did not take effect once, such as %s", len(offenders), offenders[0])
	}
	for _, shopper := range shopping.Shoppers {
		s.WantBalance(t, shopper.Customer, "154.00")
	}
}
