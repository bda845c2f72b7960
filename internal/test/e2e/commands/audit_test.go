package commands_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	e2e.Want[e2e.Transaction](t, s, http.StatusCreated, credit)
	e2e.Want[e2e.Transaction](t, s, http.StatusCreated, s.ChargeCall(t, e2e.Alice, "5.00").WithToken(admin))
	e2e.Want[e2e.Order](t, s, http.StatusOK, e2e.StatusCall(admin, first.ID, "fulfilling"))
	refund := e2e.Want[e2e.Refund](t, s, http.StatusOK, s.RefundCall(admin, first.ID, "10.00"))
	e2e.Want[e2e.Order](t, s, http.StatusOK, s.CancelCall(admin, second.ID))
	s.WantProblem(t, http.StatusConflict, "invalid_order_state", s.CancelCall(admin, second.ID))
	s.WantProblem(t, http.StatusConflict, "refund_exceeds_payment", s.RefundCall(admin, first.ID, "90.01"))
	s.WantProblem(t, http.StatusConflict, "invalid_order_state", e2e.StatusCall(admin, first.ID, "delivered"))
	e2e.Want[e2e.Order](t, s, http.StatusOK, e2e.Get(admin, fmt.Sprintf("/orders/%d", first.ID)))
	e2e.Want[e2e.Transaction](t, s, http.StatusCreated, credit) // a replay

	entry := func(action, resource string, metadata map[string]string) e2e.AuditEntry {
		return e2e.AuditEntry{Actor: e2e.Root, Action: action, Resource: resource, Metadata: metadata}
	}
	none := map[string]string{}
	want := []e2e.AuditEntry{
		entry("GetOrderById", fmt.Sprintf("order/%d", first.ID), none),
		entry("CancelOrder", fmt.Sprintf("order/%d", second.ID), none),
		entry("RefundPayment", fmt.Sprintf("order/%d", first.ID), map[string]string{"refund": fmt.Sprint(refund.ID)}),
		entry("UpdateOrderStatus", fmt.Sprintf("order/%d", first.ID), map[string]string{"status": "fulfilling"}),
		entry("ChargeBalance", "balance/alice", none),
		entry("CreditBalance", "balance/alice", none),
	}
	page := e2e.Want[e2e.Page[e2e.AuditEntry]](t, s, http.StatusOK, e2e.Get(admin, "/admin/audit-log"))
	for i := range page.Data {
		page.Data[i].ID = 0
	}
	if diff := cmp.Diff(want, page.Data); diff != "" {
		t.Errorf("audit log (-want +got):\n%s", diff)
	}
}
