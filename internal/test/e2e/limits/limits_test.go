// Package limits_test tests what one principal may do, and that the others do not notice.
package limits_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/internal/test/e2e/routes"
	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// wantLimited checks that a call is refused by a limit.
func wantLimited(t *testing.T, s *e2e.Service, c e2e.Call) {
	t.Helper()
	r := s.WantProblem(t, http.StatusTooManyRequests, "rate_limited", c)
	if seconds, err := strconv.Atoi(r.Header.Get("Retry-After")); err != nil || seconds < 1 || seconds > 60 {
		t.Errorf("Retry-After is %q, want 1 to 60 seconds", r.Header.Get("Retry-After"))
	}
}

// start starts a shop without limits, which prepares, and a replica with limits.
func start(t *testing.T, settings ...string) (shop, limited *e2e.Service) {
	t.Helper()
	shop = e2e.StartShop(t, e2e.Stock{"tea": 1000})
	return shop, shop.StartReplica(t, settings...)
}

func TestRequestLimit_CoversEveryOperation(t *testing.T) {
	t.Parallel()
	shop, limited := start(t, "ORDERS_REQUESTS_PER_MINUTE=1", "ORDERS_UNLIMITED_ROLES=none")
	for name, route := range routes.All {
		if route.Access.Public {
			continue
		}
		c := routes.Prepare(t, shop, name)
		if !c.Operation.Idempotent {
			caller := shop.Token(t, shop.UniqueName("caller"), c.Operation.Roles[0])
			limited.MustSend(t, e2e.Get(caller, "/products")) // the only request of this minute
			wantLimited(t, limited, c.Call.WithToken(caller))
			continue
		}
		key := shop.NewKey()
		limited.Send(t, e2e.Get(c.Call.Token, "/products")) // refused, if another command was sent
		wantLimited(t, limited, c.WithKey(key))
		c.WantKeyFree(t, key)
	}
}

// The token and the role are checked before the limits, everything else after them.
func TestRequestLimit_ComesAfterTokenAndRole(t *testing.T) {
	t.Parallel()
	shop, limited := start(t, "ORDERS_REQUESTS_PER_MINUTE=2")
	alice := shop.CustomerToken(t)
	for range 5 {
		limited.WantProblem(t, http.StatusUnauthorized, "unauthenticated", e2e.Get("", "/orders"))
		limited.WantProblem(t, http.StatusForbidden, "forbidden_role", e2e.Get(alice, "/admin/audit-log"))
	}
	create := shop.CreateOrderCall(t, e2e.Alice, "tea", 1)
	limited.WantProblem(t, http.StatusBadRequest, "idempotency_key_required", create.WithKey(""))
	limited.WantProblem(t, http.StatusUnprocessableEntity, "validation_failed", create.WithBody("{}"))
	wantLimited(t, limited, create)
	wantLimited(t, limited, create.WithKey(""))
	wantLimited(t, limited, create.WithBody("{}"))
	limited.WantProblem(t, http.StatusForbidden, "forbidden_role", e2e.Get(alice, "/admin/audit-log"))
	limited.MustSend(t, shop.CreateOrderCall(t, e2e.Mallory, "tea", 1)) // another principal does not notice
	shop.MustSend(t, create)                                            // nor does another replica
}

func TestKeyLimit_CountsNewKeysOnly(t *testing.T) {
	t.Parallel()
	shop, limited := start(t, "ORDERS_IDEMPOTENCY_KEYS_PER_MINUTE=3")
	var first [3]e2e.Call
	for i := range first {
		first[i] = shop.CreateOrderCall(t, e2e.Alice, "tea", 1)
		limited.MustSend(t, first[i])
	}
	beyond := shop.CreateOrderCall(t, e2e.Alice, "tea", 1)
	for range 3 { // the same key, however often
		wantLimited(t, limited, beyond)
	}
	limited.WantProblem(t, http.StatusNotFound, "not_found", e2e.LookupCall(beyond.Token, beyond.Key))
	for _, call := range first {
		if r := limited.MustSend(t, call); !r.Replayed() {
			t.Errorf("%s is not replayed", call.Key)
		}
		limited.MustSend(t, e2e.LookupCall(call.Token, call.Key))
		limited.WantProblem(t, http.StatusConflict, "idempotency_key_reused", call.WithBody(`{"items": [{"sku": "tea", "quantity": 9}]}`))
	}
	limited.MustSend(t, shop.CreateOrderCall(t, e2e.Mallory, "tea", 1))
	if r := shop.MustSend(t, beyond); r.Replayed() {
		t.Error("the key that was over the limit had an effect")
	}
}

func TestInFlightLimit_CountsUnansweredRequests(t *testing.T) {
	t.Parallel()
	shop, limited := start(t, "ORDERS_IN_FLIGHT=2")
	alice := shop.CustomerToken(t)
	order := shop.MustCreateOrder(t, e2e.Alice, "tea", 1)
	row := shop.LockRows(t, "SELECT FROM orders WHERE id = $1 FOR UPDATE", order.ID)
	replies := sendAll(t, limited, 2, func() e2e.Call { return shop.CancelCall(alice, order.ID) })
	shop.AwaitBlocked(t, 2)

	wantLimited(t, limited, e2e.Get(alice, "/orders"))
	limited.MustSend(t, e2e.Get(shop.Token(t, e2e.Mallory, "customer"), "/orders"))

	row.Release()
	for range 2 {
		e2e.Receive(t, replies, "a request is answered")
	}
	e2e.Eventually(t, "the places are free", func() bool {
		return limited.Send(t, e2e.Get(alice, "/orders")).Status == http.StatusOK
	})
}

func TestLimits_LeaveUnlimitedRolesAlone(t *testing.T) {
	t.Parallel()
	one := []string{"ORDERS_REQUESTS_PER_MINUTE=1", "ORDERS_IDEMPOTENCY_KEYS_PER_MINUTE=1", "ORDERS_IN_FLIGHT=1"}
	shop, limited := start(t, one...)
	nobody := shop.StartReplica(t, append(one, "ORDERS_UNLIMITED_ROLES=none")...)
	sellers := shop.StartReplica(t, append(one, "ORDERS_UNLIMITED_ROLES=seller,admin")...)
	credit := func() e2e.Call { return shop.CreditCall(t, e2e.Alice, "1.00") }
	for range 5 {
		limited.MustSend(t, credit())
		sellers.MustSend(t, e2e.Get(shop.SellerToken(t), "/orders"))
	}
	nobody.MustSend(t, credit())
	wantLimited(t, nobody, credit())
	sellers.MustSend(t, credit())
	wantLimited(t, sellers, credit())
}

// connection is a connection that a test keeps open.
type connection struct {
	net.Conn
	reader *bufio.Reader
}

func connect(t *testing.T, url string) connection {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return connection{conn, bufio.NewReader(conn)}
}

// ask sends a request and does not wait for the response.
func (c connection) ask(t *testing.T) {
	t.Helper()
	if _, err := io.WriteString(c, "GET /health/live HTTP/1.1\r\nHost: orders\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
}

func (c connection) wantAnswer(t *testing.T) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(e2e.Patience))
	resp, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%d %v", resp.StatusCode, err)
	}
}

func TestConnections_BeyondTheLimitWait(t *testing.T) {
	t.Parallel()
	env, addr, admin := e2e.NewEnv(t), e2e.FreeAddr(t), e2e.FreeAddr(t)
	replica := env.StartReplica(t, "ORDERS_REQUESTS_PER_MINUTE=1", "ORDERS_ADDR="+addr, "ORDERS_ADMIN_ADDR="+admin)
	replica.MaxConnections = 2
	replica.Run(t)
	s := &e2e.Service{Env: env, URL: "http://" + addr}
	s.MustSend(t, e2e.Get(s.CustomerToken(t), "/orders"))
	wantLimited(t, s, e2e.Get(s.CustomerToken(t), "/orders"))
	http.DefaultClient.CloseIdleConnections()
	first, second, third := connect(t, s.URL), connect(t, s.URL), connect(t, s.URL)
	for _, c := range []connection{first, second} {
		c.ask(t)
		c.wantAnswer(t)
	}
	third.ask(t)

	operator := e2e.Service{Env: env, URL: "http://" + admin}
	for range 20 { // time enough for the third, if it were served
		operator.MustSend(t, e2e.Get("", "/health/ready"))
		second.ask(t)
		second.wantAnswer(t)
	}
	_ = third.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if _, err := third.reader.Peek(1); err == nil {
		t.Error("a connection beyond the limit is served")
	}
	if n := e2e.LimitedRequests.Read(t, admin); n != 1 {
		t.Errorf("%d requests are counted as limited, want 1", n)
	}

	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	third.wantAnswer(t)
}

// With ten connections, eight may be used by commands, six of them by those that share no
// transaction, and five by those of one principal.
const (
	connections = "10"
	share       = 5
	clients     = 20
)

// sendAll sends calls at the same time and returns where their responses arrive.
func sendAll(t *testing.T, s *e2e.Service, n int, next func() e2e.Call) <-chan e2e.Reply {
	t.Helper()
	replies := make(chan e2e.Reply, n)
	for range n {
		call := next()
		go func() {
			r, err := s.Try(t.Context(), t, call)
			if err != nil {
				t.Error(err)
			}
			replies <- r
		}()
	}
	return replies
}

// wantServed checks that the requests of others are answered.
func wantServed(t *testing.T, s *e2e.Service) {
	t.Helper()
	order := s.MustCreateOrder(t, e2e.Mallory, "coffee", 1)
	mallory := s.Token(t, e2e.Mallory, "customer")
	cancel := s.CancelCall(mallory, order.ID)
	s.MustSend(t, cancel)
	for _, path := range []string{fmt.Sprintf("/orders/%d", order.ID), "/idempotency-keys/" + cancel.Key} {
		s.MustSend(t, e2e.Get(mallory, path))
	}
	s.MustSend(t, s.PutPriceCall(t, "coffee", e2e.Rival, e2e.Roubles("90.00")))
	s.MustSend(t, e2e.Get(s.AdminToken(t), "/admin/audit-log"))
	s.MustSend(t, e2e.Get("", "/health/ready"))
}

// Many clients of one principal send commands about one order, whose row is locked.
func TestCommands_OfOnePrincipalLeaveConnectionsToOthers(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]func(*e2e.Service, int) e2e.Call{
		"a customer": func(s *e2e.Service, order int) e2e.Call { return s.CancelCall(s.CustomerToken(t), order) },
		"a seller, without keys": func(s *e2e.Service, order int) e2e.Call {
			return e2e.StatusCall(s.SellerToken(t), order, "fulfilling")
		},
		"the system, without limits": func(s *e2e.Service, order int) e2e.Call { return s.ReserveCall(s.SystemToken(t), order) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := e2e.NewEnv(t)
			s := env.StartReplica(t, env.DatabaseSetting(t, "pool_max_conns", connections))
			s.PutProduct(t, "tea", 10)
			s.MustSend(t, s.PutProductCall(t, "coffee", e2e.Rival, e2e.Roubles("100.00"), 10))
			order := s.MustCreateOrder(t, e2e.Alice, "tea", 1)
			row := s.LockRows(t, "SELECT FROM orders WHERE id = $1 FOR UPDATE", order.ID)
			replies := sendAll(t, s, clients, func() e2e.Call { return next(s, order.ID) })
			s.AwaitBlocked(t, share)

			wantServed(t, s)
			e2e.Eventually(t, "no more commands of the principal wait in the database", func() bool {
				return env.Blocked(t) == share
			})

			row.Release()
			for range clients {
				e2e.Receive(t, replies, "a command is answered")
			}
		})
	}
}

// Many clients of one principal read from a table that is locked.
func TestReads_OfOnePrincipalLeaveConnectionsToOthers(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	s := env.StartReplica(t, env.DatabaseSetting(t, "pool_max_conns", connections))
	s.MustSend(t, s.PutProductCall(t, "coffee", e2e.Rival, e2e.Roubles("100.00"), 10))
	tx, err := env.DB.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "LOCK TABLE ledger_entry"); err != nil {
		t.Fatal(err)
	}
	alice := s.CustomerToken(t)
	replies := sendAll(t, s, clients, func() e2e.Call { return e2e.Get(alice, "/customers/alice/balance/transactions") })
	s.AwaitBlocked(t, share)

	wantServed(t, s)
	order := s.MustCreateOrder(t, e2e.Alice, "coffee", 1) // her commands do not wait for her reads
	s.MustSend(t, s.CancelCall(alice, order.ID))
	s.MustSend(t, e2e.Call{Method: http.MethodPut, Path: "/customers/alice/profile", Token: alice, Body: routes.ProfileBody})

	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range clients {
		if r := e2e.Receive(t, replies, "a read is answered"); r.Status >= http.StatusInternalServerError {
			t.Errorf("a read: %s", r.Verdict())
		}
	}
}

// A customer whose commands about one order use all of their share retries two others: one
// that has ended, and one that waits for the order.
func TestDuplicates_NeedNoShare(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	s := env.StartReplica(t, env.DatabaseSetting(t, "pool_max_conns", connections), "ORDERS_IDEMPOTENCY_WAIT=50ms")
	s.PutProduct(t, "tea", 10)
	ended := s.ReserveCall(s.CustomerToken(t), s.MustCreateOrder(t, e2e.Alice, "tea", 1).ID)
	s.MustSend(t, ended)
	order := s.MustCreateOrder(t, e2e.Alice, "tea", 1)
	running := s.ReserveCall(s.CustomerToken(t), order.ID)
	row := s.LockRows(t, "SELECT FROM orders WHERE id = $1 FOR UPDATE", order.ID)
	first := sendAll(t, s, 1, func() e2e.Call { return running })
	s.AwaitBlocked(t, 1)
	others := sendAll(t, s, share-1, func() e2e.Call { return s.ReserveCall(s.CustomerToken(t), order.ID) })
	s.AwaitBlocked(t, share)

	replay, duplicate := s.Send(t, ended), s.Send(t, running)

	if replay.Status != http.StatusOK || replay.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("the command that has ended: %s", replay.Verdict())
	}
	if duplicate.Verdict() != "409 idempotency_in_progress" {
		t.Errorf("the command that waits: %s, want 409 idempotency_in_progress", duplicate.Verdict())
	}
	row.Release()
	e2e.Receive(t, first, "the first command is answered")
	for range share - 1 {
		e2e.Receive(t, others, "another command is answered")
	}
}
