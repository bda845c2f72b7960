package history_test

import (
	"testing"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/internal/test/e2e/routes"
	"example.com/orders/lab/history"
)

// The checker of histories reads the effects of keys from the tables. It has to know the
// table of every command.
func TestHistory_CountsTheEffectOfEveryCommand(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	want := map[history.ID]int{}
	for _, route := range routes.Guarded() {
		c := routes.Prepare(t, s, route)
		key := c.NewKey()
		c.MustRun(t, key)
		want[history.ID{Scope: c.Subject, Key: key}] = 1
	}
	for _, of := range routes.Refusals() {
		c := routes.PrepareRefusal(t, s, of)
		key := c.NewKey()
		c.Send(t, c.WithKey(key))
		want[history.ID{Scope: c.Subject, Key: key}] = 0
	}

	effects, err := history.CountEffects(t.Context(), s.DB)
	if err != nil {
		t.Fatal(err)
	}
	for id, n := range want {
		if effects[id] != n {
			t.Errorf("%s: %d effects, want %d", id, effects[id], n)
		}
	}
}

// Payments, refunds and cancellations move money, too, and their keys are in other tables.
func TestHistory_LoadsTheLedgerOfEveryCommand(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 10})
	want := map[string]int64{}
	run := func(change int64, c e2e.Call) {
		want[c.Key] = change
		s.MustSend(t, c)
	}
	alice := s.Token(t, e2e.Alice, "customer")
	run(1_000_000, s.CreditCall(t, e2e.Alice, "10000.00"))
	run(-12_34, s.ChargeCall(t, e2e.Alice, "12.34"))
	cancelled, refunded := s.MustCreateOrder(t, e2e.Alice, "tea", 1), s.MustCreateOrder(t, e2e.Alice, "tea", 2)
	const price = 100_00
	run(-price, s.ConfirmCall(t, e2e.Alice, cancelled.ID))
	run(price, s.CancelCall(alice, cancelled.ID))
	run(-2*price, s.ConfirmCall(t, e2e.Alice, refunded.ID))
	run(5_00, s.RefundCall(alice, refunded.ID, "5.00"))
	run(2*price-5_00, s.RefundCall(alice, refunded.ID, ""))

	ledger, err := history.LoadLedger(t.Context(), s.DB)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range ledger {
		if e.Account != history.AccountOf(e2e.Alice, "RUB") || e.Scope == "" || e.Change != want[e.Key] {
			t.Errorf("%s, want %+d", e, want[e.Key])
		}
	}
	if len(ledger) != len(want) {
		t.Errorf("%d entries, want %d", len(ledger), len(want))
	}
	s.WantBalance(t, e2e.Alice, "9987.66")
	read := history.Attempt{
		Operation: history.ReadBalance, Outcome: history.OK, Account: history.AccountOf(e2e.Alice, "RUB"), After: new(int64(9987_66)),
	}
	if found := history.Check([]history.Attempt{read}, history.Options{Ledger: ledger}); len(found) > 0 {
		t.Error(found)
	}
}
