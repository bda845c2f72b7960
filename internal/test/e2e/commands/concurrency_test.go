package commands_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/test/e2e"
)

// manyConnections is the setting of a replica that lets many transactions meet in the
// database.
func manyConnections(t testing.TB, env *e2e.Env) string {
	t.Helper()
	return env.DatabaseSetting(t, "pool_max_conns", "16")
}

// wantVerdicts counts the responses by verdict: "201", "409 out_of_stock".
func wantVerdicts(t *testing.T, replies []e2e.Reply, want map[string]int) {
	t.Helper()
	got := map[string]int{}
	for _, r := range replies {
		got[r.Verdict()]++
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("responses by verdict (-want +got):\n%s", diff)
	}
}

func TestCreateOrder_SellsLastItemsOnce(t *testing.T) {
	t.Parallel()
	const customers, items = 40, 7
	env := e2e.NewEnv(t)
	s := env.StartReplica(t, manyConnections(t, env))
	s.PutProduct(t, "tea", items)
	var calls []e2e.Call
	for i := range customers {
		customer := fmt.Sprintf("customer-%d", i)
		s.Credit(t, customer, "100.00")
		calls = append(calls, s.CreateOrderCall(t, customer, "tea", 1))
	}
	orders := s.SendAllTogether(t, calls)
	wantVerdicts(t, orders, map[string]int{"201": items, "409 out_of_stock": customers - items})
	s.WantStock(t, "tea", items, items)

	var payments []e2e.Call
	for i, r := range orders {
		if r.Status == http.StatusCreated {
			var id int
			if _, err := fmt.Sscanf(r.Header.Get("Location"), "/orders/%d", &id); err != nil {
				t.Fatalf("read the order of %q: %v", r.Header.Get("Location"), err)
			}
			payments = append(payments, s.ConfirmCall(t, fmt.Sprintf("customer-%d", i), id))
		}
	}
	wantVerdicts(t, s.SendAllTogether(t, payments), map[string]int{"200": items})
	s.WantStock(t, "tea", 0, 0)
	if sold := s.Count(t, `SELECT sum(quantity) FROM order_item JOIN orders o ON o.id = order_id WHERE o.status = 'paid'`); sold != items {
		t.Errorf("%d items are sold, want %d", sold, items)
	}
	e2e.CheckInvariants(t, s.DB, nil)
}

// Orders that name the same products in opposite order would deadlock if products were
// locked in that order.
func TestCreateOrder_LocksProductsInOneOrder(t *testing.T) {
	t.Parallel()
	const products, orders = 6, 60
	env := e2e.NewEnv(t)
	s := env.StartReplica(t, manyConnections(t, env))
	var skus []string
	for i := range products {
		skus = append(skus, fmt.Sprintf("sku-%d", i))
		s.PutProduct(t, skus[i], 1000)
	}
	var calls []e2e.Call
	for i := range orders {
		var items []string
		for j := range skus {
			place := (i + j) % products
			if i%2 == 1 {
				place = products - 1 - place
			}
			items = append(items, fmt.Sprintf(`{"sku": %q, "quantity": 1}`, skus[place]))
		}
		calls = append(calls, s.CreateOrderCall(t, fmt.Sprintf("customer-%d", i), "", 0).
			WithBody(`{"items": [`+strings.Join(items, ",")+`]}`))
	}
	wantVerdicts(t, s.SendAllTogether(t, calls), map[string]int{"201": orders})
	for _, sku := range skus {
		if p := s.ReadProduct(t, sku); p.Reserved != orders {
			t.Errorf("the product is %+v, want %d reserved", p, orders)
		}
	}
	if n := countDeadlocks(t, s.Env); n > 0 {
		t.Errorf("%d deadlocks: products are not locked in one order", n)
	}
}

// countDeadlocks counts the deadlocks of the database so far.
func countDeadlocks(t testing.TB, env *e2e.Env) int {
	t.Helper()
	env.Exec(t, `SELECT pg_stat_force_next_flush()`)
	return env.Count(t, `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`)
}

// Payments of a customer, orders, credits and changes of the stock, all about the same
// balance and products: every lock there is, taken at the same time.
func TestCommands_DoNotDeadlock(t *testing.T) {
	t.Parallel()
	const rounds = 12
	env := e2e.NewEnv(t)
	s := env.StartReplica(t, manyConnections(t, env))
	s.PutProduct(t, "tea", 1000)
	s.PutProduct(t, "rum", 1000)
	s.Credit(t, e2e.Alice, "100000.00")
	var calls []e2e.Call
	for range rounds {
		both := `{"items": [{"sku": "tea", "quantity": 1}, {"sku": "rum", "quantity": 1}]}`
		calls = append(calls,
			s.ConfirmCall(t, e2e.Alice, s.MustCreateOrder(t, e2e.Alice, "tea", 1).ID),
			s.ConfirmCall(t, e2e.Alice, s.MustCreateOrder(t, e2e.Alice, "rum", 1).ID),
			s.CreditCall(t, e2e.Alice, "1.00"),
			s.AdjustStockCall(s.SellerToken(t), "rum", 1),
			s.CreateOrderCall(t, e2e.Alice, "", 0).WithBody(both),
			s.PutPriceCall(t, "tea", e2e.Shop, e2e.Roubles("100.00")),
		)
	}
	wantVerdicts(t, s.SendAllTogether(t, calls), map[string]int{"200": 3 * rounds, "201": 3 * rounds})
	s.WantBalance(t, e2e.Alice, fmt.Sprintf("%d.00", 100000+rounds-2*rounds*100))
	e2e.CheckInvariants(t, s.DB, nil)
}

func TestChargeBalance_ConcurrentChargesNeverOverdraw(t *testing.T) {
	t.Parallel()
	const charges, enough = 30, 10
	env := e2e.NewEnv(t)
	s := env.StartReplica(t, manyConnections(t, env))
	s.Credit(t, e2e.Alice, "100.00")
	var calls []e2e.Call
	for range charges {
		calls = append(calls, s.ChargeCall(t, e2e.Alice, "10.00"))
	}
	wantVerdicts(t, s.SendAllTogether(t, calls), map[string]int{"201": enough, "402 insufficient_funds": charges - enough})
	s.WantBalance(t, e2e.Alice, "0.00")
	if n := s.Count(t, `SELECT count(*) FROM ledger_entry WHERE kind = 'charge'`); n != enough {
		t.Errorf("%d charges in the ledger, want %d", n, enough)
	}
	e2e.CheckInvariants(t, s.DB, nil)
}

// A balance is created with its first entry. Of many first credits only one can create
// it.
func TestCreditBalance_ConcurrentFirstCreditsAllCount(t *testing.T) {
	t.Parallel()
	const credits = 30
	env := e2e.NewEnv(t)
	s := env.StartReplica(t, manyConnections(t, env))
	var calls []e2e.Call
	for range credits {
		calls = append(calls, s.CreditCall(t, "newcomer", "1.00"))
	}
	wantVerdicts(t, s.SendAllTogether(t, calls), map[string]int{"201": credits})
	s.WantBalance(t, "newcomer", "30.00")
	if n := s.Count(t, `SELECT count(DISTINCT balance_after) FROM ledger_entry WHERE customer_id = 'newcomer'`); n != credits {
		t.Errorf("%d different balances after %d credits", n, credits)
	}
	e2e.CheckInvariants(t, s.DB, nil)
}

// A product belongs to the seller who was first.
func TestPutProduct_HasOneSeller(t *testing.T) {
	t.Parallel()
	const perSeller = 15
	env := e2e.NewEnv(t)
	s := env.StartReplica(t, manyConnections(t, env))
	var calls []e2e.Call
	for i := range 2 * perSeller {
		seller := []string{e2e.Shop, e2e.Rival}[i%2]
		calls = append(calls, s.PutProductCall(t, "tea", seller, e2e.Roubles("1.00"), 10).
			WithBody(fmt.Sprintf(`{"name": %q, "price": {"amount": "1.00", "currency": "RUB"}, "on_hand": 10}`, seller)))
	}
	wantVerdicts(t, s.SendAllTogether(t, calls), map[string]int{
		"201": 1, "428 precondition_required": perSeller - 1, "403 forbidden_resource": perSeller,
	})
	var owner, name string
	if err := s.DB.QueryRow(t.Context(), `SELECT seller_id, name FROM product`).Scan(&owner, &name); err != nil {
		t.Fatal(err)
	}
	if owner != name {
		t.Errorf("the product of %s was put by %s", owner, name)
	}
}
