package play

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"example.com/orders/internal/core"
)

// The playground's people and product.
const (
	customer = "sber-42"
	seller   = "tea-shop"
	billing  = "billing"

	product = `{"name": "Tea, 100 g", "price": {"amount": "499.50", "currency": "RUB"}, "on_hand": 1000000}`
	topUp   = `{"amount": {"amount": "10000.00", "currency": "RUB"}, "description": "play money"}`
	basket  = `{"items": [{"sku": "tea", "quantity": 2}]}`
	price   = "999.00" // the basket's
)

// ledgerRows is the number of entries on the page.
const ledgerRows = 8

// stage is the scenarios' environment: two replicas on a separate database, the network
// before them, and an order.
type stage struct {
	db       database
	replicas [2]*replica
	networks [2]*network
	client   client

	customerToken string
	systemToken   string

	order    int64
	key      string // the payment's key
	before   string // before the payment
	attempts int
	next     int // next replica for Pay
}

// openStage starts the replicas on an empty database, with a product and a customer who
// has money. On failure it stops them again.
func openStage(ctx context.Context, cfg Config) (_ *stage, err error) {
	owner, service, err := cfg.OpenDatabase(ctx)
	if err != nil {
		return nil, err
	}
	s := &stage{client: newClient()}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.db, err = openDatabase(ctx, owner); err != nil {
		return nil, err
	}
	environ := append(slices.Clone(cfg.Environ),
		"ORDERS_ADDR=127.0.0.1:0", "ORDERS_ADMIN_ADDR=127.0.0.1:0", "ORDERS_DATABASE_URL="+service+"&pool_max_conns=8",
		"ORDERS_NATS_URL=", "ORDERS_STRIPE_KEY=", "ORDERS_STRIPE_WEBHOOK_SECRET=",
		"ORDERS_RESERVATION_TTL=24h", "ORDERS_UNPAID_ORDERS=0")
	for i, name := range []string{"A", "B"} {
		r := &replica{name: name, environ: environ, log: cfg.Log}
		s.replicas[i] = r
		if s.networks[i], err = openNetwork(ctx, func() string { return r.addr }); err != nil {
			return nil, err
		}
	}
	if err = s.startReplicas(ctx, func(*replica) {}); err != nil {
		return nil, err
	}
	return s, s.furnish(ctx, cfg.Token)
}

// startReplicas starts stopped replicas and reports each.
func (s *stage) startReplicas(ctx context.Context, started func(*replica)) error {
	for _, r := range s.replicas {
		if r.running() {
			continue
		}
		if err := r.start(ctx); err != nil {
			return err
		}
		started(r)
	}
	return nil
}

// furnish creates the product and credits the customer through the API.
func (s *stage) furnish(ctx context.Context, token func(subject, role string) (string, error)) error {
	tokens := map[string]string{}
	for subject, role := range map[string]core.Role{customer: core.Customer, seller: core.Seller, billing: core.System} {
		signed, err := token(subject, string(role))
		if err != nil {
			return err
		}
		tokens[subject] = signed
	}
	s.customerToken, s.systemToken = tokens[customer], tokens[billing]
	var ignored any
	err := s.client.must(ctx, &ignored, http.MethodPut, s.api()+"/products/tea", tokens[seller], "", product)
	return errors.Join(err, s.newOrder(ctx))
}

// api returns a replica's address for the playground's own calls, which skip the
// network.
func (s *stage) api() string { return s.replicas[1].url() }

// newOrder creates an unpaid order and a payment key. It credits a customer who cannot
// pay it.
func (s *stage) newOrder(ctx context.Context) (err error) {
	if s.before, err = s.balance(ctx); err != nil {
		return err
	}
	if enough, err := covers(s.before, price); err != nil {
		return err
	} else if !enough {
		if err := s.credit(ctx); err != nil {
			return err
		}
	}
	var created struct {
		ID int64 `json:"id"`
	}
	err = s.client.must(ctx, &created, http.MethodPost, s.api()+"/orders", s.customerToken, "order-"+rand.Text(), basket)
	s.order, s.key, s.attempts, s.next = created.ID, "pay-"+strings.ToLower(rand.Text()[:12]), 0, 0
	return err
}

func (s *stage) credit(ctx context.Context) (err error) {
	var ignored any
	err = s.client.must(ctx, &ignored, http.MethodPost, s.api()+"/customers/"+customer+"/balance/credit",
		s.systemToken, "credit-"+rand.Text(), topUp)
	if err != nil {
		return err
	}
	s.before, err = s.balance(ctx)
	return err
}

// balance returns the customer's balance in roubles from the API.
func (s *stage) balance(ctx context.Context) (string, error) {
	var got struct {
		Balances []struct{ Amount string }
	}
	err := s.client.must(ctx, &got, http.MethodGet, s.api()+"/customers/"+customer+"/balance", s.customerToken, "", "")
	if err != nil || len(got.Balances) == 0 {
		return "0.00", err
	}
	return got.Balances[0].Amount, nil
}

// covers reports whether a balance is at least an amount in roubles.
func covers(balance, amount string) (bool, error) {
	has, err := core.ParseMoney(balance, "RUB")
	if err != nil {
		return false, err
	}
	needs, err := core.ParseMoney(amount, "RUB")
	return err == nil && !has.Less(needs), err
}

// State is shown beside the time line.
type State struct {
	Order    int64          `json:"order"`
	Total    string         `json:"total"`
	Key      string         `json:"key"`
	Paid     bool           `json:"paid"`
	Balance  string         `json:"balance"`
	Before   string         `json:"before"` // before this order
	Payments int            `json:"payments"`
	Ledger   []LedgerEntry  `json:"ledger"`
	Record   *Record        `json:"record"`
	Replicas []ReplicaState `json:"replicas"`
}

// ReplicaState identifies a replica's process.
type ReplicaState struct {
	Name string `json:"name"`
	PID  int    `json:"pid"`
}

func (s *stage) state(ctx context.Context) (State, error) {
	now := State{Order: s.order, Total: price, Key: s.key, Before: s.before}
	var err error
	if now.Balance, err = s.balance(ctx); err != nil {
		return now, err
	}
	if now.Payments, _, err = s.db.payments(ctx, s.order); err != nil {
		return now, err
	}
	now.Paid = now.Payments > 0
	if now.Ledger, err = s.db.ledger(ctx, customer, ledgerRows); err != nil {
		return now, err
	}
	for _, r := range s.replicas {
		now.Replicas = append(now.Replicas, ReplicaState{r.name, r.pid()})
	}
	now.Record, err = s.db.record(ctx, s.key)
	return now, err
}

// verdict derives the attempts' combined effect from the database.
func (s *stage) verdict(ctx context.Context) (text string, right bool, err error) {
	payments, entries, err := s.db.payments(ctx, s.order)
	if err != nil {
		return "", false, err
	}
	now, err := s.balance(ctx)
	if err != nil {
		return "", false, err
	}
	moved, err := difference(s.before, now)
	if err != nil {
		return "", false, err
	}
	if payments != 1 || entries != 1 || moved != price {
		return fmt.Sprintf("Order %d has %d payments and %d ledger entries, and the balance moved by %s. It must move once.",
			s.order, payments, entries, moved), false, nil
	}
	return fmt.Sprintf("Order %d is paid once. %s, one payment, one ledger entry: the balance went from %s to %s.",
		s.order, count(s.attempts, "attempt"), s.before, now), true, nil
}

func difference(before, after string) (string, error) {
	from, err := core.ParseMoney(before, "RUB")
	if err != nil {
		return "", err
	}
	to, err := core.ParseMoney(after, "RUB")
	if err != nil {
		return "", err
	}
	moved, err := from.Sub(to)
	return moved.Decimal(), err
}

func count(n int, what string) string {
	if n == 1 {
		return "One " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// close stops the replicas and the network.
func (s *stage) close() {
	for i := range s.replicas {
		if s.networks[i] != nil {
			s.networks[i].close()
		}
		if s.replicas[i] != nil {
			s.replicas[i].stop()
		}
	}
	if s.db.pool != nil {
		s.db.pool.Close()
	}
}
