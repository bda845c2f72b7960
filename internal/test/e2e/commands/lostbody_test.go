package commands_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/test/e2e"
)

// A refund that has lost its body must not become the largest refund there is. Its key stays
// free for the request as it was meant.
func TestRefundPayment_WithoutItsBodyRefundsNothing(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 10})
	o := s.MustCreatePaidOrder(t, e2e.Alice, "tea", 1)
	meant := s.RefundCall(s.CustomerToken(t), o.ID, "10.00")

	lost := meant.WithBody("").WithHeader("Content-Type", "application/json")
	s.WantProblem(t, http.StatusBadRequest, "malformed_request", lost)
	empty := s.WantProblem(t, http.StatusUnprocessableEntity, "validation_failed", meant.WithBody("{}"))
	if diff := cmp.Diff([]string{"#/amount", "#/full"}, empty.Pointers()); diff != "" {
		t.Error(diff)
	}
	if got := s.ReadPayments(t, o.ID); len(got) != 1 || len(got[0].Refunds) != 0 {
		t.Errorf("got %+v, want a payment without refunds", got)
	}

	s.MustSend(t, meant)
	if got := s.ReadPayments(t, o.ID); len(got[0].Refunds) != 1 || got[0].Refunded != e2e.Roubles("10.00") {
		t.Errorf("got %+v, want the refund as it was meant", got)
	}
}
