package faults

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"

	"example.com/orders/internal/test/e2e"
)

// Subjects in a run. They are few, so that commands meet.
var (
	customers = []string{"customer-0", "customer-1", "customer-2"}
	// savers never order: only banks change their balances.
	savers = []string{"saver-0", "saver-1"}
	banks  = []string{e2e.Bank, "bank-2"}
)

// product is a product before its first change.
type product struct {
	sku, seller, price string
	onHand             int
}

// products are few as well. Lamps soon sell out.
var products = []product{
	{"tea", e2e.Shop, "10.00", 300},
	{"cup", e2e.Shop, "25.50", 100},
	{"lamp", e2e.Rival, "99.90", 12},
	{"book", e2e.Rival, "40.00", 200},
}

// allProducts returns the products with the one that has a model of its own.
func allProducts() []product { return append(slices.Clone(products), kettle) }

// world is shared knowledge among a run's clients.
type world struct {
	warehouse *warehouse
	// lossy reports that the database may have lost commits.
	lossy bool

	mu      sync.Mutex
	orders  []knownOrder
	kettles []kettleOrder
	// created are products that clients put under load, or tried to.
	created []product
	// paid are the ids of orders that clients paid or tried to pay.
	paid map[int]bool
	// references are used references from orders and ledger entries.
	references []string
	// statuses are acknowledged order changes.
	statuses []orderStatus
	// profiles are profile changes by customer.
	profiles map[string]profile
	// administrator counts administrator requests without a key by audit log action.
	administrator map[string]sent
}

// profile is a set of possible e-mails for a customer: the last acknowledged one, and
// those with an unknown outcome, which may still be stored at any time. No profile is
// "".
type profile struct {
	acknowledged string
	unknown      []string
}

// sent counts requests by known outcome.
type sent struct{ acknowledged, unknown int }

// orderStatus is an order's new status.
type orderStatus struct {
	orderID int
	status  string
}

// knownOrder is an order as clients remember it.
type knownOrder struct {
	id               int
	customer, seller string
}

func newWorld() *world {
	return &world{paid: map[int]bool{}, profiles: map[string]profile{}, administrator: map[string]sent{}}
}

// addOrder remembers an order. Replays with one response count once.
func (w *world) addOrder(o e2e.Order) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, known := range w.orders {
		if known.id == o.ID {
			return
		}
	}
	w.orders = append(w.orders, knownOrder{o.ID, o.CustomerID, o.SellerID})
}

// notePaid remembers that an order was paid, or may be.
func (w *world) notePaid(orderID int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.paid[orderID] = true
}

// remember adds one to those that the clients know.
func remember[T any](w *world, known *[]T, one T) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*known = append(*known, one)
}

// recall draws one of those that the clients know, preferring late ones.
func recall[T any](w *world, random *rand.Rand, known *[]T) (_ T, found bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return lateOne(random, *known)
}

func (w *world) anOrder(random *rand.Rand) (knownOrder, bool) { return recall(w, random, &w.orders) }

// aPaidOrder draws a paid order, preferring late payments.
func (w *world) aPaidOrder(random *rand.Rand) (_ knownOrder, found bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	paid := slices.DeleteFunc(slices.Clone(w.orders), func(o knownOrder) bool { return !w.paid[o.id] })
	if len(paid) == 0 || random.IntN(4) == 0 {
		paid = w.orders
	}
	return lateOne(random, paid)
}

// lateOne draws one element, preferring the last ones.
func lateOne[T any](random *rand.Rand, from []T) (one T, found bool) {
	const late = 10
	if len(from) > late && random.IntN(4) > 0 {
		from = from[len(from)-late:]
	}
	if len(from) == 0 {
		return one, false
	}
	return oneOf(random, from), true
}

// nextStatus returns the status after the order's last known one.
func (w *world) nextStatus(orderID int) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	next := "fulfilling"
	for _, s := range w.statuses {
		if following, found := map[string]string{"fulfilling": "shipped", "shipped": "delivered"}[s.status]; found && s.orderID == orderID {
			next = following
		}
	}
	return next
}

// stockUp puts the products and credits all customers before anything breaks.
func (l *Load) stockUp() {
	l.t.Helper()
	s := &e2e.Service{Env: l.Env, URL: l.Endpoints[0].URL}
	for _, p := range allProducts() {
		s.MustSend(l.t, l.PutProductCall(l.t, p.sku, p.seller, e2e.Roubles(p.price), p.onHand))
	}
	c := l.newClient(stocker)
	for _, customer := range customers {
		c.finish(c.changeBalanceOf(customer, "credit", 50_000))
	}
	for _, saver := range savers {
		c.finish(c.changeBalanceOf(saver, "credit", 1_000))
	}
	c.readKettles()
}

// roubles formats kopecks like the API.
func roubles(kopecks int64) string {
	return fmt.Sprintf(`{"amount": "%d.%02d", "currency": "RUB"}`, kopecks/100, kopecks%100)
}

// kopecks parses an amount from the API.
func kopecks(amount string) int64 {
	n, err := strconv.ParseInt(strings.Replace(amount, ".", "", 1), 10, 64)
	if err != nil {
		panic(err) // the service writes both decimals
	}
	return n
}
