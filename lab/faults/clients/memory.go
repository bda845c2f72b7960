package clients

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/lab/history"
)

// Subjects in a run. They are few, so that commands meet.
var (
	customers = []string{"customer-0", "customer-1", "customer-2"}
	// Savers never order: only banks change their balances.
	Savers = []string{"saver-0", "saver-1"}
	banks  = []string{e2e.Bank, "bank-2"}
)

// Product is a product before its first change.
type Product struct {
	SKU, seller, price string
	OnHand             int
}

// products are few as well. Lamps soon sell out.
var products = []Product{
	{"tea", e2e.Shop, "10.00", 300},
	{"cup", e2e.Shop, "25.50", 100},
	{"lamp", e2e.Rival, "99.90", 12},
	{"book", e2e.Rival, "40.00", 200},
}

// AllProducts returns the products with the one that has a model of its own.
func AllProducts() []Product { return append(slices.Clone(products), Kettle) }

// Memory is shared knowledge among a run's clients.
type Memory struct {
	Warehouse *Warehouse
	// Lossy reports that the database may have lost commits.
	Lossy bool

	mu      sync.Mutex
	orders  []knownOrder
	kettles []kettleOrder
	// Created are products that clients put under load, or tried to.
	Created []Product
	// paid are the ids of orders that clients paid or tried to pay.
	paid map[int]bool
	// references are used references from orders and ledger entries.
	references []string
	// Statuses are acknowledged order changes.
	Statuses []OrderStatus
	// Profiles are profile changes by customer.
	Profiles map[string]Profile
	// Administrator counts administrator requests without a key by audit log action.
	Administrator map[string]Sent
}

// Profile is a set of possible e-mails for a customer: the last acknowledged one, and
// those with an unknown outcome, which may still be stored at any time. No profile is
// "".
type Profile struct {
	Acknowledged string
	Unknown      []string
}

// Sent counts requests by known outcome.
type Sent struct{ Acknowledged, Unknown int }

// OrderStatus is an order's new status.
type OrderStatus struct {
	OrderID int
	Status  string
}

// knownOrder is an order as clients remember it.
type knownOrder struct {
	ID               int
	customer, seller string
}

func newMemory() *Memory {
	return &Memory{paid: map[int]bool{}, Profiles: map[string]Profile{}, Administrator: map[string]Sent{}}
}

// addOrder remembers an order. Replays with one response count once.
func (m *Memory) addOrder(o e2e.Order) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, known := range m.orders {
		if known.ID == o.ID {
			return
		}
	}
	m.orders = append(m.orders, knownOrder{o.ID, o.CustomerID, o.SellerID})
}

// notePaid remembers that an order was paid, or may be.
func (m *Memory) notePaid(orderID int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.paid[orderID] = true
}

// remember adds one to those that the clients know.
func remember[T any](m *Memory, known *[]T, one T) {
	m.mu.Lock()
	defer m.mu.Unlock()
	*known = append(*known, one)
}

// recall draws one of those that the clients know, preferring late ones.
func recall[T any](m *Memory, random *rand.Rand, known *[]T) (_ T, found bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return lateOne(random, *known)
}

func (m *Memory) anOrder(random *rand.Rand) (knownOrder, bool) { return recall(m, random, &m.orders) }

// aPaidOrder draws a paid order, preferring late payments.
func (m *Memory) aPaidOrder(random *rand.Rand) (_ knownOrder, found bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	paid := slices.DeleteFunc(slices.Clone(m.orders), func(o knownOrder) bool { return !m.paid[o.ID] })
	if len(paid) == 0 || random.IntN(4) == 0 {
		paid = m.orders
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
	return OneOf(random, from), true
}

// nextStatus returns the status after the order's last known one.
func (m *Memory) nextStatus(orderID int) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := "fulfilling"
	for _, s := range m.Statuses {
		if following, found := map[string]string{"fulfilling": "shipped", "shipped": "delivered"}[s.Status]; found && s.OrderID == orderID {
			next = following
		}
	}
	return next
}

// stockUp puts the products and credits all customers before anything breaks.
func (l *Load) stockUp() {
	l.T.Helper()
	s := &e2e.Service{Env: l.Env, URL: l.Endpoints[0].URL}
	for _, p := range AllProducts() {
		s.MustSend(l.T, l.PutProductCall(l.T, p.SKU, p.seller, e2e.Roubles(p.price), p.OnHand))
	}
	c := l.NewClient(stocker)
	for _, customer := range customers {
		c.Finish(c.ChangeBalanceOf(customer, "credit", 50_000))
	}
	for _, saver := range Savers {
		c.Finish(c.ChangeBalanceOf(saver, "credit", 1_000))
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

// noteAdministrator remembers an action that the audit log has to contain.
func (m *Memory) noteAdministrator(action string, outcome history.Outcome) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.Administrator[action]
	switch outcome {
	case history.OK:
		s.Acknowledged++
	case history.Unknown:
		s.Unknown++
	case history.Refused:
	}
	m.Administrator[action] = s
}

// noteProfile remembers a profile that was sent, "" for a deletion.
func (m *Memory) noteProfile(customer, email string, outcome history.Outcome) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.Profiles[customer]
	switch outcome {
	case history.OK:
		p.Acknowledged = email
	case history.Unknown:
		p.Unknown = append(p.Unknown, email)
	case history.Refused:
	}
	m.Profiles[customer] = p
}

// Restocked returns deliveries announced by good messages, by message id.
func (m *Memory) Restocked() map[string]Restocked { return m.Warehouse.Good }

// BeginAgain records that another database has replaced the previous one, since begun,
// and lacks its last commits. Everything acknowledged until now may be lost, and
// nothing else.
func (l *Load) BeginAgain(begun time.Duration) {
	l.T.Helper()
	l.DB.Reset() // its connections are broken
	l.History.Add(history.Attempt{Operation: history.Failover, Start: begun, End: l.History.Now()})
	m := l.Memory
	m.Warehouse.mu.Lock()
	m.Warehouse.Acknowledged = maps.Clone(m.Warehouse.Good)
	m.Warehouse.mu.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Lossy = true
	m.Statuses = nil
	for action, acts := range m.Administrator {
		m.Administrator[action] = Sent{Unknown: acts.Acknowledged + acts.Unknown}
	}
	for customer, p := range m.Profiles {
		var stored string
		row := l.DB.QueryRow(l.T.Context(), `SELECT coalesce((SELECT email FROM customer_profile WHERE customer_id = $1), '')`, customer)
		if err := row.Scan(&stored); err != nil {
			l.T.Fatal(err)
		}
		m.Profiles[customer] = Profile{Acknowledged: stored, Unknown: p.Unknown}
	}
}
