package relay_test

import (
	"testing"

	"example.com/orders/internal/adapters/out/postgres/relay"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/core/webhook"
)

// Consumers know these members: a published one is never renamed.
func TestEvents_KeepTheirPublishedShapes(t *testing.T) {
	t.Parallel()
	one, oneErr := core.ParseMoney("1.00", "RUB")
	ten, tenErr := core.ParseMoney("10.00", "RUB")
	if oneErr != nil || tenErr != nil {
		t.Fatal(oneErr, tenErr)
	}
	for _, c := range []struct {
		data any
		want string
	}{
		{
			order.EventData{OrderID: 1, CustomerID: "ann", SellerID: "shop", Status: order.Paid, Total: ten, Version: 2},
			`{"order_id":1,"customer_id":"ann","seller_id":"shop","status":"paid",` +
				`"amount":"10.00","currency":"RUB","version":2}`,
		},
		{
			order.StockEventData{SKU: "tea", SellerID: "shop", AdjustmentID: 7, Change: -1, OnHand: 9},
			`{"sku":"tea","seller_id":"shop","stock_adjustment_id":7,"change":-1,"on_hand":9}`,
		},
		{
			payment.EventData{
				PaymentID: 3, OrderID: 1, Method: payment.ByCard, Status: payment.Captured, Amount: ten, Refunded: one,
			},
			`{"payment_id":3,"order_id":1,"method":"card","status":"captured",` +
				`"amount":"10.00","refunded":"1.00","currency":"RUB"}`,
		},
		{
			payment.RefundEventData{RefundID: 5, PaymentID: 3, OrderID: 1, Status: payment.RefundPending, Amount: one},
			`{"refund_id":5,"payment_id":3,"order_id":1,"status":"pending","amount":"1.00","currency":"RUB"}`,
		},
		{
			payment.BalanceEventData{CustomerID: "ann", EntryID: 9, Kind: payment.EntryCredit, Amount: one, BalanceAfter: ten},
			`{"customer_id":"ann","balance_transaction_id":9,"kind":"credit",` +
				`"amount":"1.00","balance_after":"10.00","currency":"RUB"}`,
		},
		{
			webhook.EventData{EndpointID: 7, SellerID: "shop", Reason: webhook.DisabledGone},
			`{"endpoint_id":7,"seller_id":"shop","reason":"answered 410 Gone"}`,
		},
		{
			webhook.EventData{EndpointID: 8, Reason: webhook.DisabledFailing},
			`{"endpoint_id":8,"reason":"failed for five days"}`,
		},
		{webhook.EventData{EndpointID: 7}, `{"endpoint_id":7}`},
	} {
		if got, err := relay.EncodeData(c.data); err != nil || string(got) != c.want {
			t.Errorf("%T: %s, err = %v; want %s", c.data, got, err, c.want)
		}
	}
}

func TestEvents_OfAnUnknownShapeAreRejected(t *testing.T) {
	t.Parallel()
	if got, err := relay.EncodeData(core.Event{}); err == nil {
		t.Errorf("published as %s", got)
	}
}
