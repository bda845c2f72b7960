package commands_test

import (
	"fmt"
	"net/http"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// The payment begins before the credit and locks the balance after it.
func TestListBalanceTransactions_BeginsWithTheLastChangeOfABalance(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	s := env.StartReplica(t, manyConnections(t, env))
	s.PutProduct(t, "tea", 1)
	s.Credit(t, e2e.Alice, "100000.00")
	o := s.MustCreateOrder(t, e2e.Alice, "tea", 1)
	lock := env.LockRows(t, "SELECT FROM orders WHERE id = $1 FOR UPDATE", o.ID)
	paid := make(chan e2e.Reply, 1)
	go func() { paid <- s.Send(t, s.ConfirmCall(t, e2e.Alice, o.ID)) }()
	lock.AwaitWaiter(t)
	s.Credit(t, e2e.Alice, "5.00")
	lock.Release()
	if r := <-paid; r.Status != http.StatusOK {
		t.Fatalf("the payment: %d %s", r.Status, r.Body)
	}

	list := e2e.Get(s.CustomerToken(t), fmt.Sprintf("/customers/%s/balance/transactions", e2e.Alice))
	entries := e2e.Want[e2e.Page[e2e.Transaction]](t, s, http.StatusOK, list).Data
	if kind := entries[0].Kind; kind != "payment" {
		t.Errorf("the list begins with a %s, want the payment", kind)
	}
	s.WantBalance(t, e2e.Alice, entries[0].BalanceAfter.Amount)
	e2e.CheckInvariants(t, s.DB, nil)
}
