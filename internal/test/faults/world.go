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

// The people of a run. They are few, so that commands meet.
var (
	customers = []string{"customer-0", "customer-1", "customer-2"}
	// savers never order: only banks change their balances.
	savers = []string{"saver-0", "saver-1"}
	banks  = []string{e2e.Bank, "bank-2"}
)

// product is a product as it is first put.
type product struct {
	sku, seller, price string
	onHand             int
}

// products are few, too. Lamps are soon out of stock.
var products = []product{
	{"tea", e2e.Shop, "10.00", 300},
	{"cup", e2e.Shop, "25.50", 100},
	{"lamp", e2e.Rival, "99.90", 12},
	{"book", e2e.Rival, "40.00", 200},
}

// world is what the clients of a run know in common.
type world struct {
	warehouse *warehouse
	// lossy says that the database may have lost commits.
	lossy bool

	mu     sync.Mutex
	orders []knownOrder
	// paid are the ids of orders that were paid, or are being paid.
	paid map[int]bool
	// references are those of orders and ledger entries that a client has sent.
	references []string
	// statuses are changes of orders that were acknowledged.
	statuses []orderStatus
	// profiles are the changes of profiles, by customer.
	profiles map[string]profile
	// administrator is what the administrator did without a key, by the action in the audit
	// log.
	administrator map[string]sent
}

// profile is what may be stored of a customer: the last acknowledged e-mail, or one whose
// outcome is unknown. The latter may still be stored at any time. No profile is "".
type profile struct {
	acknowledged string
	unknown      []string
}

// sent is how often something was sent, by what is known of the outcome.
type sent struct{ acknowledged, unknown int }

// orderStatus is a status that an order was changed to.
type orderStatus struct {
	orderID int
	status  string
}

// knownOrder is what clients remember of an order.
type knownOrder struct {
	id               int
	customer, seller string
}

func newWorld() *world {
	return &world{paid: map[int]bool{}, profiles: map[string]profile{}, administrator: map[string]sent{}}
}

// addOrder remembers an order. Replays of one response are one order.
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

// notePaid remembers that an order was paid, or is being paid.
func (w *world) notePaid(orderID int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.paid[orderID] = true
}

// anOrder draws an order, more often a late one.
func (w *world) anOrder(random *rand.Rand) (_ knownOrder, found bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return lateOne(random, w.orders)
}

// aPaidOrder draws an order, more often one that was paid late.
func (w *world) aPaidOrder(random *rand.Rand) (_ knownOrder, found bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	paid := slices.DeleteFunc(slices.Clone(w.orders), func(o knownOrder) bool { return !w.paid[o.id] })
	if len(paid) == 0 || random.IntN(4) == 0 {
		paid = w.orders
	}
	return lateOne(random, paid)
}

func lateOne(random *rand.Rand, from []knownOrder) (_ knownOrder, found bool) {
	const late = 10
	if len(from) > late && random.IntN(4) > 0 {
		from = from[len(from)-late:]
	}
	if len(from) == 0 {
		return knownOrder{}, false
	}
	return oneOf(random, from), true
}

// nextStatus returns the status after the last one that an order is known to have had.
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

// addReference remembers a reference that was sent.
func (w *world) addReference(reference string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.references = append(w.references, reference)
}

// aReference draws a reference that was sent before.
func (w *world) aReference(random *rand.Rand) (_ string, found bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.references) == 0 {
		return "", false
	}
	return oneOf(random, w.references), true
}

// stockUp puts the products and credits everybody, before anything breaks.
func (l *Load) stockUp() {
	l.t.Helper()
	s := &e2e.Service{Env: l.Env, URL: l.Endpoints[0].URL}
	for _, p := range products {
		s.MustSend(l.t, l.PutProductCall(l.t, p.sku, p.seller, e2e.Roubles(p.price), p.onHand))
	}
	c := l.newClient(stocker)
	for _, customer := range customers {
		c.finish(c.changeBalanceOf(customer, "credit", 50_000))
	}
	for _, saver := range savers {
		c.finish(c.changeBalanceOf(saver, "credit", 1_000))
	}
}

// roubles returns an amount of kopecks as the API writes it.
func roubles(kopecks int64) string {
	return fmt.Sprintf(`{"amount": "%d.%02d", "currency": "RUB"}`, kopecks/100, kopecks%100)
}

// kopecks returns the number of kopecks of an amount in the API.
func kopecks(amount string) int64 {
	n, err := strconv.ParseInt(strings.Replace(amount, ".", "", 1), 10, 64)
	if err != nil {
		panic(err) // the service writes both decimals
	}
	return n
}
