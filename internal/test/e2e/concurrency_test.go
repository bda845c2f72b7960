package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// atOnce sends calls to one service at the same moment.
func (s *service) atOnce(calls []call) []reply {
	s.Helper()
	var shots []shot
	for _, c := range calls {
		shots = append(shots, shot{s, c})
	}
	return together(s, shots...)
}

// crowded is the setting of a replica that lets many transactions meet in the database.
func crowded(w *world) string { return w.database("pool_max_conns", "16") }

// wantTally counts answers by status and code: "201", "409 out_of_stock".
func wantTally(t *testing.T, replies []reply, want map[string]int) {
	t.Helper()
	got := map[string]int{}
	for _, r := range replies {
		got[r.verdict()]++
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the answers are not as wanted (-want +got):\n%s", diff)
	}
}

func TestTheLastItemsAreSoldOnce(t *testing.T) {
	t.Parallel()
	const customers, items = 40, 7
	w := newWorld(t)
	s := w.replica(crowded(w))
	s.putProduct("tea", items)
	var calls []call
	for i := range customers {
		customer := fmt.Sprintf("customer-%d", i)
		s.credit(customer, "100.00")
		calls = append(calls, s.orderCall(customer, "tea", 1, s.newKey()))
	}
	orders := s.atOnce(calls)
	wantTally(t, orders, map[string]int{"201": items, "409 out_of_stock": customers - items})
	if p := s.product("tea"); p.OnHand != items || p.Reserved != items {
		t.Errorf("after ordering, the product is %+v", p)
	}

	var payments []call
	for i, r := range orders {
		if r.status == http.StatusCreated {
			var id int
			if _, err := fmt.Sscanf(r.header.Get("Location"), "/orders/%d", &id); err != nil {
				t.Fatalf("read the order of %q: %v", r.header.Get("Location"), err)
			}
			payments = append(payments, s.confirmCall(fmt.Sprintf("customer-%d", i), id, s.newKey()))
		}
	}
	wantTally(t, s.atOnce(payments), map[string]int{"200": items})
	if p := s.product("tea"); p.OnHand != 0 || p.Reserved != 0 {
		t.Errorf("after paying, the product is %+v", p)
	}
	if sold := s.count(`SELECT sum(quantity) FROM order_item JOIN orders o ON o.id = order_id WHERE o.status = 'paid'`); sold != items {
		t.Errorf("%d items are sold, want %d", sold, items)
	}
	checkLedger(t, s.db, nil)
}

// Orders that name the same products in opposite order would wait for each other, if
// products were locked as they come.
func TestOrdersInOppositeOrderDoNotFail(t *testing.T) {
	t.Parallel()
	const products, orders = 6, 60
	w := newWorld(t)
	s := w.replica(crowded(w))
	var skus []string
	for i := range products {
		skus = append(skus, fmt.Sprintf("sku-%d", i))
		s.putProduct(skus[i], 1000)
	}
	var calls []call
	for i := range orders {
		var items []string
		for j := range skus {
			place := (i + j) % products
			if i%2 == 1 {
				place = products - 1 - place
			}
			items = append(items, fmt.Sprintf(`{"sku": %q, "quantity": 1}`, skus[place]))
		}
		c := s.orderCall(fmt.Sprintf("customer-%d", i), "", 0, s.newKey())
		c.body = `{"items": [` + strings.Join(items, ",") + `]}`
		calls = append(calls, c)
	}
	wantTally(t, s.atOnce(calls), map[string]int{"201": orders})
	for _, sku := range skus {
		if p := s.product(sku); p.Reserved != orders {
			t.Errorf("the product is %+v, want %d reserved", p, orders)
		}
	}
	if deadlocks := s.deadlocks(); deadlocks > 0 {
		t.Errorf("the database broke %d deadlocks: products are not locked in one order", deadlocks)
	}
}

// deadlocks is how many the database has had to break, as far as its counters tell yet.
func (w *world) deadlocks() int {
	w.Helper()
	w.exec(`SELECT pg_stat_force_next_flush()`)
	return w.count(`SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`)
}

// Payments of one customer's orders, which share their stock, while the stock is put
// anew: every lock there is, taken at once.
func TestPayingOrderingAndStockingAtOnceDoNotFail(t *testing.T) {
	t.Parallel()
	const rounds = 12
	w := newWorld(t)
	s := w.replica(crowded(w))
	s.putProduct("tea", 1000)
	s.putProduct("rum", 1000)
	s.credit(alice, "100000.00")
	var calls []call
	for range rounds {
		both := s.orderCall(alice, "", 0, s.newKey())
		both.body = `{"items": [{"sku": "tea", "quantity": 1}, {"sku": "rum", "quantity": 1}]}`
		calls = append(calls,
			s.confirmCall(alice, s.order(alice, "tea", 1).ID, s.newKey()),
			s.confirmCall(alice, s.order(alice, "rum", 1).ID, s.newKey()),
			s.creditCall(alice, "1.00", s.newKey()),
			both,
			call{method: "PUT", path: "/products/tea", token: s.token(shop, "seller"), body: `{"name": "tea", "price": {"amount": "100.00", "currency": "RUB"}, "on_hand": 1000}`},
		)
	}
	wantTally(t, s.atOnce(calls), map[string]int{"200": 3 * rounds, "201": 2 * rounds})
	if got := s.balance(alice); got != fmt.Sprintf("%d.00", 100000+rounds-2*rounds*100) {
		t.Errorf("the balance is %s", got)
	}
	checkLedger(t, s.db, nil)
}

func TestChargesAtOnceNeverOverdraw(t *testing.T) {
	t.Parallel()
	const charges, enough = 30, 10
	w := newWorld(t)
	s := w.replica(crowded(w))
	s.credit(alice, "100.00")
	var calls []call
	for range charges {
		c := s.creditCall(alice, "10.00", s.newKey())
		c.path = "/customers/alice/balance/charge"
		calls = append(calls, c)
	}
	wantTally(t, s.atOnce(calls), map[string]int{"201": enough, "402 insufficient_funds": charges - enough})
	if got := s.balance(alice); got != "0.00" {
		t.Errorf("the balance is %s, want 0.00", got)
	}
	if n := s.count(`SELECT count(*) FROM ledger_entry WHERE kind = 'charge'`); n != enough {
		t.Errorf("%d charges are in the books, want %d", n, enough)
	}
	checkLedger(t, s.db, nil)
}

// A balance begins with its first entry; of many at once only one can begin it.
func TestFirstCreditsAtOnceAllCount(t *testing.T) {
	t.Parallel()
	const credits = 30
	w := newWorld(t)
	s := w.replica(crowded(w))
	var calls []call
	for range credits {
		calls = append(calls, s.creditCall("newcomer", "1.00", s.newKey()))
	}
	wantTally(t, s.atOnce(calls), map[string]int{"201": credits})
	if got := s.balance("newcomer"); got != "30.00" {
		t.Errorf("the balance is %s, want 30.00", got)
	}
	if n := s.count(`SELECT count(DISTINCT balance_after) FROM ledger_entry WHERE customer_id = 'newcomer'`); n != credits {
		t.Errorf("%d different balances were told after %d credits", n, credits)
	}
	checkLedger(t, s.db, nil)
}

// A product belongs to the seller who was first, however close the race.
func TestNewProductHasOneSeller(t *testing.T) {
	t.Parallel()
	const tries = 15
	w := newWorld(t)
	s := w.replica(crowded(w))
	var calls []call
	for i := range 2 * tries {
		seller := []string{shop, "other-shop"}[i%2]
		calls = append(calls, call{
			method: "PUT", path: "/products/tea", token: s.token(seller, "seller"),
			body: fmt.Sprintf(`{"name": %q, "price": {"amount": "1.00", "currency": "RUB"}, "on_hand": 10}`, seller),
		})
	}
	wantTally(t, s.atOnce(calls), map[string]int{"201": 1, "200": tries - 1, "403 forbidden_resource": tries})
	var owner, name string
	if err := s.db.QueryRow(t.Context(), `SELECT seller_id, name FROM product`).Scan(&owner, &name); err != nil {
		t.Fatal(err)
	}
	if owner != name {
		t.Errorf("the product of %s was described by %s", owner, name)
	}
}
