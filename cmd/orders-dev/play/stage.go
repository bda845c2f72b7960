package play

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/orders/internal/core"
)

// The people and amounts of the playground.
const (
	guardedCustomer = "sber-42"
	twinCustomer    = "sber-42-twin"
	billing         = "billing"

	price, otherPrice = "999.00", "1.00"

	enough = "5000.00" // for a new payment with every attempt charged
	topUp  = `{"amount": {"amount": "10000.00", "currency": "RUB"}, "description": "play money"}`
)

// ledgerRows is the number of entries on the page.
const ledgerRows = 8

// stage is the scenarios' environment: two replicas on a separate database, and two
// customers, one of whom pays past the guard.
type stage struct {
	db       database
	replicas [2]*replica
	client   client
	cards    *cardProvider
	token    string // billing's
	// Those of the customer and the seller of a card payment.
	buyerToken, sellerToken string
	opened                  time.Time

	guarded, twin *account
	scenario      sync.Mutex // one at a time, except for Pay

	mu       sync.Mutex // protects the accounts' payments
	payments int
}

// account is a customer and the current payment.
type account struct {
	customer string
	guarded  bool
	current  *operation
}

// operation is one payment. The attempts share a key.
type operation struct {
	number  int
	key     string
	account *account

	attempts, open int // open ones have no response
}

// description identifies the payment in the ledger, where the twin has no key.
func (p *operation) description() string { return fmt.Sprintf("payment %d", p.number) }

// path returns the path of a charge: in the API or in the twin.
func (p *operation) path() string {
	path := "/customers/" + p.account.customer + "/balance/charge"
	if !p.account.guarded {
		return unguarded + path
	}
	return path
}

// openStage starts the replicas on an empty database and credits both customers. On
// failure it stops them again.
func openStage(ctx context.Context, cfg Config) (_ *stage, err error) {
	owner, service, err := cfg.OpenDatabase(ctx)
	if err != nil {
		return nil, err
	}
	s := &stage{
		client: newClient(), opened: time.Now(),
		guarded: &account{customer: guardedCustomer, guarded: true}, twin: &account{customer: twinCustomer},
	}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.db, err = openDatabase(ctx, owner); err != nil {
		return nil, err
	}
	if s.cards, err = openCardProvider(ctx, owner); err != nil {
		return nil, err
	}
	environ := append(slices.Clone(cfg.Environ),
		"ORDERS_ADDR=127.0.0.1:0", "ORDERS_ADMIN_ADDR=127.0.0.1:0", "ORDERS_DATABASE_URL="+service+"&pool_max_conns=8",
		"ORDERS_NATS_URL=", "ORDERS_ALLOW_INSECURE=webhooks")
	environ = append(environ, s.cards.environ...)
	for i, name := range []string{"A", "B"} {
		s.replicas[i] = &replica{name: name, environ: environ, log: cfg.Log}
	}
	if err = s.startReplicas(ctx, func(*replica) {}); err != nil {
		return nil, err
	}
	if err = s.makeTokens(cfg.Token); err != nil {
		return nil, err
	}
	for _, a := range []*account{s.guarded, s.twin} {
		if err = s.fund(ctx, a); err != nil {
			return nil, err
		}
		s.renew(a)
	}
	return s, nil
}

// startReplicas starts stopped replicas and reports each.
func (s *stage) startReplicas(ctx context.Context, started func(*replica)) error {
	for _, r := range s.replicas {
		if r.pid() != 0 {
			continue
		}
		if err := r.start(ctx); err != nil {
			return err
		}
		started(r)
	}
	return nil
}

// api returns the address for calls of the playground itself.
func (s *stage) api(a *account) string {
	return s.replicas[1].url() + "/customers/" + a.customer + "/balance"
}

// fund credits a customer who has little money.
func (s *stage) fund(ctx context.Context, a *account) error {
	balance, err := s.balance(ctx, a)
	if err != nil {
		return err
	}
	has, err := core.ParseMoney(balance, "RUB")
	if err != nil {
		return err
	}
	if needs, err := core.ParseMoney(enough, "RUB"); err != nil || !has.Less(needs) {
		return err
	}
	var ignored any
	return s.client.must(ctx, &ignored, http.MethodPost, s.api(a)+"/credit", s.token, "credit-"+rand.Text(), topUp)
}

// renew replaces the payment of an account with a new one.
func (s *stage) renew(a *account) *operation {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.payments++
	a.current = &operation{number: s.payments, key: "pay-" + strings.ToLower(rand.Text()[:12]), account: a}
	return a.current
}

// balance returns a customer balance in roubles from the API.
func (s *stage) balance(ctx context.Context, a *account) (string, error) {
	var got struct {
		Balances []struct{ Amount string }
	}
	err := s.client.must(ctx, &got, http.MethodGet, s.api(a), s.token, "", "")
	if err != nil || len(got.Balances) == 0 {
		return "0.00", err
	}
	return got.Balances[0].Amount, nil
}

// State is shown next to the time line.
type State struct {
	ReadAt   int64          `json:"read_at"` // microseconds: concurrent presses end in any order
	Guarded  bool           `json:"guarded"`
	Payment  int            `json:"payment"`
	Amount   string         `json:"amount"`
	Key      string         `json:"key"`
	Balance  string         `json:"balance"`
	Moved    Moved          `json:"moved"`
	Ledger   []LedgerEntry  `json:"ledger"`
	Record   *Record        `json:"record"`
	Replicas []ReplicaState `json:"replicas"`
}

// ReplicaState identifies a replica process.
type ReplicaState struct {
	Name string `json:"name"`
	PID  int    `json:"pid"`
}

func (s *stage) state(ctx context.Context, a *account) (State, error) {
	s.mu.Lock()
	p := *a.current
	s.mu.Unlock()
	now := State{ReadAt: time.Now().UnixMicro(), Guarded: a.guarded, Payment: p.number, Amount: price, Key: p.key}
	var err error
	if now.Balance, err = s.balance(ctx, a); err != nil {
		return now, err
	}
	now.Balance = separated(now.Balance)
	if now.Moved, err = s.db.moved(ctx, &p); err != nil {
		return now, err
	}
	if now.Ledger, err = s.db.ledger(ctx, a.customer, ledgerRows); err != nil {
		return now, err
	}
	for _, r := range s.replicas {
		now.Replicas = append(now.Replicas, ReplicaState{r.name, r.pid()})
	}
	now.Record, err = s.db.record(ctx, p.key)
	return now, err
}

// separated separates the thousands of an amount: 10,000.00.
func separated(amount string) string {
	whole, fraction, _ := strings.Cut(amount, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	return whole + "." + fraction
}

// verdict derives the attempts' combined effect from the ledger.
func (m Moved) verdict(p *operation, attempts int) (text string, right bool) {
	plural := "s"
	if attempts == 1 {
		plural = ""
	}
	return fmt.Sprintf("Payment %d: %d attempt%s, and the balance moved %s: %s → %s.",
		p.number, attempts, plural, times(m.Times), m.From, m.To), m.Times == 1 && m.Sum == price
}

func times(n int) string {
	return cmp.Or(map[int]string{1: "once", 2: "twice"}[n], fmt.Sprintf("%d times", n))
}

// close stops the replicas.
func (s *stage) close() {
	for _, r := range s.replicas {
		if r != nil {
			r.stop()
		}
	}
	if s.cards != nil {
		_ = s.cards.stop() // nobody calls it any more
	}
	if s.db.pool != nil {
		s.db.pool.Close()
	}
}
