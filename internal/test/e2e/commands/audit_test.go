package commands_test

import (
	"fmt"
	"maps"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/core"
	"example.com/orders/internal/test/e2e"
)

// wantLastAuditEntry checks the newest entry of the audit log.
func wantLastAuditEntry(t testing.TB, s *e2e.Service, actor, action, resource string) {
	t.Helper()
	page := e2e.Want[e2e.Page[e2e.AuditEntry]](t, s, http.StatusOK, e2e.Get(s.AdminToken(t), "/admin/audit-log?limit=1"))
	if len(page.Data) != 1 || page.Data[0].Actor != actor || page.Data[0].Action != action || page.Data[0].Resource != resource {
		t.Errorf("the newest entry of the audit log is %+v, want %s of %s by %s", page.Data, action, resource, actor)
	}
}

// The audit log has an entry for each action of an administrator, newest first. Refused
// attempts and replays have none.
func TestListAuditLog_ShowsActionsOfAdministrators(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 10})
	first := s.MustCreatePaidOrder(t, e2e.Alice, "tea", 1)
	second := s.MustCreatePaidOrder(t, e2e.Alice, "tea", 1)
	admin := s.AdminToken(t)
	credit := s.CreditCall(t, e2e.Alice, "5.00").WithToken(admin)
	credited := e2e.Want[e2e.Transaction](t, s, http.StatusCreated, credit)
	charged := e2e.Want[e2e.Transaction](t, s, http.StatusCreated, s.ChargeCall(t, e2e.Alice, "2.00").WithToken(admin))
	e2e.Want[e2e.Order](t, s, http.StatusOK, e2e.StatusCall(admin, first.ID, "fulfilling"))
	refund := e2e.Want[e2e.Refund](t, s, http.StatusOK, s.RefundCall(admin, first.ID, "10.00"))
	e2e.Want[e2e.Order](t, s, http.StatusOK, s.CancelCall(admin, second.ID))
	s.WantProblem(t, http.StatusConflict, "invalid_order_state", s.CancelCall(admin, second.ID))
	s.WantProblem(t, http.StatusConflict, "refund_exceeds_payment", s.RefundCall(admin, first.ID, "90.01"))
	s.WantProblem(t, http.StatusConflict, "invalid_order_state", e2e.StatusCall(admin, first.ID, "delivered"))
	e2e.Want[e2e.Order](t, s, http.StatusOK, e2e.Get(admin, fmt.Sprintf("/orders/%d", first.ID)))
	adjusted := e2e.Want[e2e.StockAdjustment](t, s, http.StatusCreated, s.AdjustStockCall(admin, "tea", -3))
	e2e.Want[e2e.Page[e2e.Order]](t, s, http.StatusOK, e2e.Get(admin, "/orders?status=paid&customer_id=alice"))
	e2e.Want[e2e.Transaction](t, s, http.StatusCreated, credit) // a replay

	payments := s.ReadPayments(t, second.ID)
	ofOrder := core.Metadata{"customer_id": e2e.Alice, "seller_id": e2e.Shop}
	ofAlice := core.Metadata{"customer_id": e2e.Alice, "currency": "RUB"}
	want := []e2e.AuditEntry{
		entry("ListOrders", "orders", core.Metadata{"customer_id": e2e.Alice, "status": "paid"}),
		entry("AdjustStock", "product/tea", core.Metadata{
			"seller_id": e2e.Shop, "stock_adjustment_id": fmt.Sprint(adjusted.ID), "change": "-3", "on_hand": fmt.Sprint(adjusted.OnHand),
		}),
		entry("GetOrderById", orderResource(first), ofOrder),
		entry("CancelOrder", orderResource(second), ofOrder, core.Metadata{
			"previous_status": "paid", "amount": "100.00", "currency": "RUB",
			"payment_id": fmt.Sprint(payments[0].ID), "refund_id": fmt.Sprint(payments[0].Refunds[0].ID),
		}),
		entry("RefundPayment", orderResource(first), ofOrder, core.Metadata{
			"amount": "10.00", "currency": "RUB", "payment_id": fmt.Sprint(refund.PaymentID), "refund_id": fmt.Sprint(refund.ID),
		}),
		entry("UpdateOrderStatus", orderResource(first), ofOrder, core.Metadata{"previous_status": "paid", "status": "fulfilling"}),
		entry("ChargeBalance", "balance/alice", ofAlice, core.Metadata{
			"amount": "2.00", "balance_transaction_id": fmt.Sprint(charged.ID), "balance_after": charged.BalanceAfter.Amount,
		}),
		entry("CreditBalance", "balance/alice", ofAlice, core.Metadata{
			"amount": "5.00", "balance_transaction_id": fmt.Sprint(credited.ID), "balance_after": credited.BalanceAfter.Amount,
		}),
	}
	wantLastAuditEntry(t, s, e2e.Root, "ListOrders", "orders") // a read of the log, which is an action, too
	want = append([]e2e.AuditEntry{entry("ListAuditLog", "audit-log")}, want...)
	page := e2e.Want[e2e.Page[e2e.AuditEntry]](t, s, http.StatusOK, e2e.Get(admin, "/admin/audit-log"))
	for i := range page.Data {
		page.Data[i].ID = 0
	}
	if diff := cmp.Diff(want, page.Data); diff != "" {
		t.Errorf("audit log (-want +got):\n%s", diff)
	}
}

// entry is an entry of the administrator without its id.
func entry(action, resource string, metadata ...core.Metadata) e2e.AuditEntry {
	e := e2e.AuditEntry{Actor: e2e.Root, Action: action, Resource: resource, Metadata: map[string]string{}}
	for _, part := range metadata {
		maps.Copy(e.Metadata, part)
	}
	return e
}

func orderResource(o e2e.Order) string { return fmt.Sprintf("order/%d", o.ID) }
