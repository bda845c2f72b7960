package limits_test

import (
	"fmt"
	"net/http"
	"testing"

	"example.com/orders/internal/test/e2e"
)

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
	s.MustSend(t, e2e.Call{Method: http.MethodPut, Path: "/customers/alice/profile", Token: alice, Body: e2e.ProfileBody})

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
