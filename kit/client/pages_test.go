package client

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

func TestPages_FollowEachOther(t *testing.T) {
	c, s := newClient(t,
		responds(http.StatusOK, `{"data": [{"id": 3}, {"id": 2}], "next_cursor": "a+b"}`),
		responds(http.StatusOK, `{"data": [{"id": 1}], "next_cursor": null}`),
	)
	var ids []int64
	for order, err := range c.ListOrders(t.Context(), OrderFilter{Status: OrderPaid}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, order.ID)
	}
	if diff := diffOf([]int64{3, 2, 1}, ids); diff != "" {
		t.Error(diff)
	}
	want := []string{"/orders?status=paid", "/orders?cursor=a%2Bb&status=paid"}
	if diff := diffOf(want, []string{s.sent[0].path, s.sent[1].path}); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestFilter_IsSentWithEveryMember(t *testing.T) {
	c, s := newClient(t, responds(http.StatusOK, `{"data": []}`))
	filter := OrderFilter{
		Status: OrderPaid, CustomerID: "sber-42", Reference: "cart 1", PageSize: 2,
		CreatedFrom: time.Date(2026, 11, 1, 3, 0, 0, 0, time.FixedZone("", 3*60*60)),
		CreatedTo:   time.Date(2026, 11, 2, 0, 0, 0, 1, time.UTC), // a nanosecond more
	}
	for order, err := range c.ListOrders(t.Context(), filter) {
		t.Errorf("order %+v, err = %v", order, err)
	}
	const want = "/orders?created_from=2026-11-01T00%3A00%3A00Z&created_to=2026-11-02T00%3A00%3A00.000001Z" +
		"&customer_id=sber-42&limit=2&reference=cart+1&status=paid"
	if got := s.sent[0].path; got != want {
		t.Errorf("request %s, want %s", got, want)
	}
}

func TestPages_EndWithAnError(t *testing.T) {
	c, s := newClient(t,
		responds(http.StatusOK, `{"data": [{"sku": "tea"}], "next_cursor": "next"}`),
		refuses(http.StatusForbidden, `"code": "forbidden_role", "retryable": false`),
	)
	var seen []string
	for product, err := range c.ListProducts(t.Context()) {
		seen = append(seen, product.SKU)
		if err != nil && !errors.Is(err, ForbiddenRole) {
			t.Errorf("err = %v", err)
		}
	}
	if diff := diffOf([]string{"tea", ""}, seen); diff != "" || len(s.sent) != 2 {
		t.Errorf("%d requests: %s", len(s.sent), diff)
	}
}

func TestPages_AreNotFetchedBeforeTheyAreNeeded(t *testing.T) {
	c, s := newClient(t, responds(http.StatusOK, `{"data": [{"id": 2}, {"id": 1}], "next_cursor": "next"}`))
	list := c.ListPayments(t.Context(), 1041)
	for range 2 { // it can be iterated again
		for _, err := range list {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	if len(s.sent) != 2 || s.sent[0].path != "/orders/1041/payments" || s.sent[1].path != s.sent[0].path {
		t.Errorf("sent %+v", s.sent)
	}
}

func TestAwaitPayment_AsksUntilItIsDecided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		processing := responds(http.StatusOK, `{"id": 7, "status": "processing"}`)
		c, s := newClient(t, processing, loses, responds(http.StatusOK, `{"id": 7, "status": "newer"}`), responds(http.StatusOK, `{"id": 7, "status": "failed"}`))
		got, err := c.AwaitPayment(t.Context(), 7)
		if err != nil || got.Status != PaymentFailed || len(s.sent) != 4 || s.sent[3].path != "/payments/7" {
			t.Errorf("payment %+v, err = %v, sent %+v", got, err, s.sent)
		}
	})
}

func TestAwaitRefund_EndsAtTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newClient(t, responds(http.StatusOK, `{"id": 7, "status": "pending"}`))
		start := time.Now()
		got, err := c.AwaitRefund(t.Context(), 7)
		if err == nil || got.Status != RefundPending || time.Since(start) > 30*time.Second || len(s.sent) < 8 {
			t.Errorf("refund %+v, err = %v after %s", got, err, time.Since(start))
		}
	})
}
