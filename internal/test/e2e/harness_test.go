package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"

	"example.com/orders/cmd/orders/app"
	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/config"
	devissuer "example.com/orders/internal/dev/issuer"
	contracttest "example.com/orders/internal/test/contract"
	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// world is what the replicas of one test share: a database, an issuer, the contract.
type world struct {
	testing.TB
	databaseURL string
	db          *pgxpool.Pool
	issuer      *devissuer.Issuer
	jwksURL     string
	contract    *contracttest.Validator
	keys        atomic.Int64
	lender      *world // the test of this subtest
}

// newWorld makes a database and an issuer for one test.
func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{TB: t, databaseURL: pgtest.New(t), contract: contracttest.New(t)}
	var err error
	if w.db, err = pgxpool.New(t.Context(), w.databaseURL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.db.Close)
	if w.issuer, err = devissuer.New(devissuer.Config{Algorithm: "ES256"}); err != nil {
		t.Fatal(err)
	}
	issuer := httptest.NewServer(w.issuer.Handler())
	t.Cleanup(issuer.Close)
	w.jwksURL = issuer.URL + devissuer.JWKSPath
	return w
}

// in lends the world to a subtest, whose failures and clean-up are its own.
func (w *world) in(t testing.TB) *world {
	t.Helper()
	return &world{
		TB: t, databaseURL: w.databaseURL, db: w.db, issuer: w.issuer, jwksURL: w.jwksURL, contract: w.contract,
		lender: w,
	}
}

// next gives a number that nobody in this world has been given yet.
func (w *world) next() int64 {
	for w.lender != nil {
		w = w.lender
	}
	return w.keys.Add(1)
}

// environ is the configuration of a replica; settings, "NAME=value" each, come last.
func (w *world) environ(settings ...string) []string {
	return append([]string{
		"ORDERS_DATABASE_URL=" + w.databaseURL,
		"ORDERS_JWT_ISSUER=" + devissuer.Name,
		"ORDERS_JWT_AUDIENCE=" + devissuer.Audience,
		"ORDERS_JWKS_URL=" + w.jwksURL,
		"ORDERS_ADDR=127.0.0.1:0", "ORDERS_ADMIN_ADDR=127.0.0.1:0",
	}, settings...)
}

// database is the setting of a replica that connects with one more parameter.
func (w *world) database(parameter, value string) string {
	w.Helper()
	u, err := url.Parse(w.databaseURL)
	if err != nil {
		w.Fatal(err)
	}
	q := u.Query()
	q.Set(parameter, value)
	u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20")
	return "ORDERS_DATABASE_URL=" + u.String()
}

// service is one replica of the service, put together as `orders serve` does it.
type service struct {
	*world
	url string
	app *app.App
	cfg config.Config
}

// newService starts a world with one replica.
func newService(t testing.TB, settings ...string) *service {
	t.Helper()
	return newWorld(t).replica(settings...)
}

// replica starts one more service on the same database.
func (w *world) replica(settings ...string) *service {
	w.Helper()
	cfg, err := config.Read(w.environ(settings...))
	if err != nil {
		w.Fatal(err)
	}
	a, err := app.New(w.Context(), cfg, zerolog.New(zerolog.NewTestWriter(w)))
	if err != nil {
		w.Fatal(err)
	}
	server := httptest.NewServer(a.Handler())
	w.Cleanup(func() {
		server.Close()
		a.Close()
	})
	return &service{world: w, url: server.URL, app: a, cfg: cfg}
}

// store opens the postgres adapter on the world's database.
func (w *world) store() *postgres.DB {
	w.Helper()
	db, err := postgres.Open(w.Context(), postgres.Config{URL: w.databaseURL, MaxConns: 4})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(db.Close)
	return db
}

// run lets the service run as `orders serve` does, with its jobs, until the test ends or
// stop is called.
func (s *service) run() (stop func()) {
	s.Helper()
	listeners, err := app.Listen(s.Context(), s.cfg)
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(s.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.app.Run(ctx, listeners, 0) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := receive(s, ended, "the service stops"); err != nil {
			s.Error(err)
		}
	})
	s.Cleanup(stop)
	ready := "http://" + listeners.Public.Addr().String() + "/health/ready"
	eventually(s, "the service runs", func() bool { return answersOK(ready) })
	return stop
}

// answersOK reports whether a GET is answered with 200.
func answersOK(url string) bool {
	resp, err := http.Get(url)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// in lends the service to a subtest, whose failures and clean-up are its own.
func (s *service) in(t testing.TB) *service {
	t.Helper()
	return &service{world: s.world.in(t), url: s.url, app: s.app, cfg: s.cfg}
}

// token signs a token of the development issuer, good for an hour.
func (w *world) token(sub string, roles ...string) string {
	w.Helper()
	signed, err := w.issuer.Token(sub, roles, time.Hour)
	if err != nil {
		w.Fatal(err)
	}
	return signed
}

// newKey gives an Idempotency-Key that this test has not used yet.
func (w *world) newKey() string { return fmt.Sprintf("key-%d", w.next()) }

// name makes up a name that this test has not used yet.
func (w *world) name(what string) string { return fmt.Sprintf("%s-%d", what, w.next()) }

// call is a request of a test. An empty body is not sent.
type call struct {
	method, path string
	token        string
	key          string
	body         string
	header       http.Header
}

// reply is what came back, read to the end.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// code gives the code of a problem document, or "" for another body.
func (r reply) code() string {
	var problem struct{ Code string }
	_ = json.Unmarshal(r.body, &problem) // any other body has none
	return problem.Code
}

// send sends a request and checks the answer against the contract.
func (s *service) send(c call) reply {
	s.Helper()
	r, err := s.try(s.Context(), c)
	if err != nil {
		s.Fatal(err)
	}
	return r
}

// try is send for requests that may fail on the way, and for other goroutines.
func (s *service) try(ctx context.Context, c call) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, c.method, s.url+c.path, strings.NewReader(c.body))
	if err != nil {
		return reply{}, err
	}
	if c.header != nil {
		req.Header = c.header.Clone()
	}
	set := func(name, value string) {
		if value != "" && req.Header.Values(name) == nil {
			req.Header.Set(name, value)
		}
	}
	if c.token != "" {
		set("Authorization", "Bearer "+c.token)
	}
	set("Idempotency-Key", c.key)
	if c.body != "" {
		set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return reply{}, err
	}
	s.contract.Check(s.TB, req, []byte(c.body), resp, body)
	return reply{resp.StatusCode, resp.Header, body}, nil
}

// want sends a request that must have the given status, and reads the answer into T.
func want[T any](s *service, status int, c call) T {
	s.Helper()
	r := s.send(c)
	if r.status != status {
		s.Fatalf("%s %s: status %d, want %d: %s", c.method, c.path, r.status, status, r.body)
	}
	var v T
	if err := json.NewDecoder(bytes.NewReader(r.body)).Decode(&v); err != nil {
		s.Fatalf("%s %s: %v in %s", c.method, c.path, err, r.body)
	}
	return v
}

// wantProblem sends a request that must be refused with the given status and code.
func (s *service) wantProblem(status int, code string, c call) reply {
	s.Helper()
	r := s.send(c)
	if r.status != status || r.code() != code {
		s.Errorf("%s %s: %d %q, want %d %q: %s", c.method, c.path, r.status, r.code(), status, code, r.body)
	}
	return r
}

// The people of the tests.
const (
	alice = "alice" // a customer
	shop  = "shop"  // a seller
	bank  = "bank"  // the system
	root  = "root"  // an administrator
)

// What the tests read of the answers.
type (
	money   struct{ Amount, Currency string }
	product struct {
		SKU                 string
		OnHand              int `json:"on_hand"`
		Reserved, Available int
		SellerID            string `json:"seller_id"`
		Price               money
	}
	orderBody struct {
		ID          int
		CustomerID  string `json:"customer_id"`
		SellerID    string `json:"seller_id"`
		Status      string
		Total       money
		Reservation *struct {
			ExpiresAt time.Time `json:"expires_at"`
		}
		Version int
	}
	paymentBody struct {
		ID      int
		OrderID int `json:"order_id"`
		Amount  money
		Status  string
	}
	transactionBody struct {
		ID           int
		Kind         string
		Amount       money
		BalanceAfter money `json:"balance_after"`
	}
)

// putProduct offers onHand units of a product for 100.00 RUB.
func (s *service) putProduct(sku string, onHand int) product {
	s.Helper()
	r := s.send(call{method: "PUT", path: "/products/" + sku, token: s.token(shop, "seller"), body: fmt.Sprintf(
		`{"name": %q, "price": {"amount": "100.00", "currency": "RUB"}, "on_hand": %d}`, sku, onHand)})
	var p product
	if err := json.Unmarshal(r.body, &p); err != nil || r.status/100 != 2 {
		s.Fatalf("put product: %d %s", r.status, r.body)
	}
	return p
}

// product reads a product.
func (s *service) product(sku string) product {
	s.Helper()
	return want[product](s, http.StatusOK, call{method: "GET", path: "/products/" + sku, token: s.token(shop, "seller")})
}

// creditCall asks to credit a customer with roubles.
func (w *world) creditCall(customer, amount, key string) call {
	return call{
		method: "POST", path: "/customers/" + customer + "/balance/credit", token: w.token(bank, "system"), key: key,
		body: fmt.Sprintf(`{"amount": {"amount": %q, "currency": "RUB"}}`, amount),
	}
}

// credit gives a customer roubles.
func (s *service) credit(customer, amount string) {
	s.Helper()
	want[transactionBody](s, http.StatusCreated, s.creditCall(customer, amount, s.newKey()))
}

// balance reads a customer's roubles.
func (s *service) balance(customer string) string {
	s.Helper()
	b := want[struct{ Balances []money }](s, http.StatusOK,
		call{method: "GET", path: "/customers/" + customer + "/balance", token: s.token(customer, "customer")})
	for _, m := range b.Balances {
		if m.Currency == "RUB" {
			return m.Amount
		}
	}
	return ""
}

// orderCall asks for units of one product.
func (s *service) orderCall(customer, sku string, quantity int, key string) call {
	return call{
		method: "POST", path: "/orders", token: s.token(customer, "customer"), key: key,
		body: fmt.Sprintf(`{"items": [{"sku": %q, "quantity": %d}]}`, sku, quantity),
	}
}

// order makes an order.
func (s *service) order(customer, sku string, quantity int) orderBody {
	s.Helper()
	return want[orderBody](s, http.StatusCreated, s.orderCall(customer, sku, quantity, s.newKey()))
}

// confirmCall asks to pay an order from the balance.
func (s *service) confirmCall(customer string, orderID int, key string) call {
	return call{
		method: "POST", path: fmt.Sprintf("/orders/%d/payment/confirm", orderID),
		token: s.token(customer, "customer"), key: key, body: `{"method": "balance"}`,
	}
}

// count runs a query that answers with one number.
func (w *world) count(query string, args ...any) int {
	w.Helper()
	var n int
	if err := w.db.QueryRow(w.Context(), query, args...).Scan(&n); err != nil {
		w.Fatalf("%s: %v", query, err)
	}
	return n
}

// query is a statement with its arguments.
type query struct {
	sql  string
	args []any
}

// latch gives a channel, and what closes it and may be called again.
func latch() (<-chan struct{}, func()) {
	c := make(chan struct{})
	return c, sync.OnceFunc(func() { close(c) })
}

// receive waits for another goroutine's word.
func receive[T any](t testing.TB, from <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatalf("after %s still not: %s", patience, what)
		panic("unreachable")
	}
}
