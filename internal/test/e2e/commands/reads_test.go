package commands_test

import (
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/test/e2e"
)

// What the reads show after each kind of command. That only its owner may read it is a test
// of every route: TestAccess_DependsOnRoleAndOwner.
func TestReads_ShowEveryCommand(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 10})
	customer, admin := s.CustomerToken(t), s.AdminToken(t)
	o := s.MustCreatePaidOrder(t, e2e.Alice, "tea", 1)
	refund := e2e.Want[e2e.Refund](t, s, http.StatusOK, s.OrderCommand(customer, o.ID, "payment/refund",
		`{"amount": {"amount": "30.00", "currency": "RUB"}, "reason": "one was broken"}`))
	charge := e2e.Want[e2e.Transaction](t, s, http.StatusCreated, s.ChargeCall(t, e2e.Alice, "5.00").WithToken(admin))
	adjustment := e2e.Want[e2e.StockAdjustment](t, s, http.StatusCreated,
		s.AdjustStockCall(s.SellerToken(t), "tea", -4).WithBody(`{"change": -4, "reason": "a count"}`))

	want := []e2e.Payment{{
		ID: refund.PaymentID, OrderID: o.ID, Amount: e2e.Roubles("100.00"), Refunded: e2e.Roubles("30.00"),
		Status: "captured", Refunds: []e2e.Refund{{
			ID: refund.ID, PaymentID: refund.PaymentID, OrderID: o.ID, Amount: e2e.Roubles("30.00"),
			Status: "succeeded", Reason: "one was broken",
		}},
	}}
	if diff := cmp.Diff(want, s.ReadPayments(t, o.ID)); diff != "" {
		t.Errorf("payments (-want +got):\n%s", diff)
	}
	if a := adjustment; a.SKU != "tea" || a.Change != -4 || a.OnHand != 5 || a.Reason == nil || *a.Reason != "a count" {
		t.Errorf("the adjustment is %+v", a)
	}
	var got []string
	for _, m := range e2e.Want[e2e.Page[e2e.Transaction]](t, s, http.StatusOK, e2e.Get(customer, "/customers/alice/balance/transactions")).Data {
		got = append(got, fmt.Sprintf("%s %s, %s after it", m.Kind, m.Amount.Amount, m.BalanceAfter.Amount))
	}
	entries := []string{
		"charge 5.00, 25.00 after it", "refund 30.00, 30.00 after it", "payment 100.00, 0.00 after it", "credit 100.00, 100.00 after it",
	}
	if diff := cmp.Diff(entries, got); diff != "" {
		t.Errorf("balance transactions (-want +got):\n%s", diff)
	}
	log := e2e.Want[e2e.Page[e2e.AuditEntry]](t, s, http.StatusOK, e2e.Get(admin, "/admin/audit-log")).Data
	for i := range log {
		log[i].ID = 0
	}
	if diff := cmp.Diff([]e2e.AuditEntry{{Actor: e2e.Root, Action: "ChargeBalance", Resource: "balance/alice", Metadata: map[string]string{
		"customer_id": e2e.Alice, "currency": "RUB", "amount": "5.00", "balance_transaction_id": fmt.Sprint(charge.ID), "balance_after": "25.00",
	}}}, log); diff != "" {
		t.Errorf("audit log (-want +got):\n%s", diff)
	}
}

// maxFrames bounds the calls of this repository that a request passes from the server to a
// store. Each is a hop for readers and a line in every stack. A command whose row is held
// for long runs outside its lane, where there are more.
const maxFrames, maxFramesOutside = 22, 27

func TestConfirmPayment_LeavesFewFramesBetweenServerAndStore(t *testing.T) {
	t.Parallel()
	shop := e2e.StartShop(t, e2e.Stock{"tea": 1})
	shop.Credit(t, "ann", "100.00")
	order := shop.MustCreateOrder(t, "ann", "tea", 1)
	row := shop.LockRows(t, "SELECT FROM orders WHERE id = $1 FOR UPDATE", order.ID)
	var paying sync.WaitGroup
	paying.Go(func() { shop.Send(t, shop.ConfirmCall(t, "ann", order.ID)) })
	var frames []string
	e2e.Eventually(t, "a request waits in a store", func() bool {
		frames = framesToStore()
		return frames != nil
	})
	row.Release()
	paying.Wait()
	most, all := maxFrames, strings.Join(frames, "\n")
	if strings.Contains(all, ".runOutside(") {
		most = maxFramesOutside
	}
	if len(frames) > most {
		t.Errorf("%d frames, want at most %d:\n%s", len(frames), most, all)
	}
}

// framesToStore returns the frames of the request that a store answers now, the store
// first, or nil if there is none.
func framesToStore() []string {
	stacks := make([]byte, 8<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		frames := slices.DeleteFunc(strings.Split(stack, "\n"), func(line string) bool {
			return !strings.HasPrefix(line, "example.com/orders/")
		})
		useCase := slices.IndexFunc(frames, func(f string) bool { return strings.Contains(f, "/internal/core/") })
		if useCase > 0 && strings.Contains(stack, "net/http.(*conn).serve") {
			return frames[useCase-1:]
		}
	}
	return nil
}
