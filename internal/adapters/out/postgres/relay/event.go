package relay

import (
	"encoding/json"
	"fmt"

	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/core/payment/cards"
	"example.com/orders/internal/core/webhook"
)

// The data of the published events, as api/asyncapi.yaml describes it.
type (
	orderEvent struct {
		OrderID    int64  `json:"order_id"`
		CustomerID string `json:"customer_id"`
		SellerID   string `json:"seller_id"`
		Status     string `json:"status"`
		Amount     string `json:"amount"`
		Currency   string `json:"currency"`
		Version    int    `json:"version"`
	}
	stockEvent struct {
		SKU          string `json:"sku"`
		SellerID     string `json:"seller_id"`
		AdjustmentID int64  `json:"stock_adjustment_id"`
		Change       int64  `json:"change"`
		OnHand       int64  `json:"on_hand"`
	}
	paymentEvent struct {
		PaymentID int64  `json:"payment_id"`
		OrderID   int64  `json:"order_id"`
		Method    string `json:"method"`
		Status    string `json:"status"`
		Amount    string `json:"amount"`
		Refunded  string `json:"refunded"`
		Currency  string `json:"currency"`

		Dispute *disputeFacts `json:"dispute,omitempty"`
	}
	disputeFacts struct {
		ID       string `json:"id"`
		Amount   string `json:"amount"`
		Currency string `json:"currency"`
		Reason   string `json:"reason"`
		Status   string `json:"status"`
	}
	refundEvent struct {
		RefundID  int64  `json:"refund_id"`
		PaymentID int64  `json:"payment_id"`
		OrderID   int64  `json:"order_id"`
		Status    string `json:"status"`
		Amount    string `json:"amount"`
		Currency  string `json:"currency"`
	}
	webhookEvent struct {
		EndpointID int64  `json:"endpoint_id"`
		SellerID   string `json:"seller_id,omitempty"`
		Reason     string `json:"reason,omitempty"`
	}
	balanceEvent struct {
		CustomerID   string `json:"customer_id"`
		EntryID      int64  `json:"balance_transaction_id"`
		Kind         string `json:"kind"`
		Amount       string `json:"amount"`
		BalanceAfter string `json:"balance_after"`
		Currency     string `json:"currency"`
	}
)

// SourceOf returns the source of the events that an incarnation of the database writes.
func SourceOf(incarnation string) string { return sourcePrefix + incarnation }

func factsOf(d *cards.Dispute) *disputeFacts {
	if d == nil {
		return nil
	}
	return &disputeFacts{
		ID: d.ID, Amount: d.Amount.Decimal(), Currency: string(d.Amount.Currency()), Reason: d.Reason, Status: string(d.Status),
	}
}

// EncodeData returns the data of an event as it is published.
func EncodeData(data any) ([]byte, error) {
	switch d := data.(type) {
	case order.EventData:
		return json.Marshal(orderEvent{
			OrderID: d.OrderID, CustomerID: d.CustomerID, SellerID: d.SellerID, Status: string(d.Status),
			Amount: d.Total.Decimal(), Currency: string(d.Total.Currency()), Version: d.Version,
		})
	case order.StockEventData:
		return json.Marshal(stockEvent(d))
	case payment.EventData:
		return json.Marshal(paymentEvent{
			PaymentID: d.PaymentID, OrderID: d.OrderID, Method: string(d.Method), Status: string(d.Status),
			Amount: d.Amount.Decimal(), Refunded: d.Refunded.Decimal(), Currency: string(d.Amount.Currency()),
			Dispute: factsOf(d.Dispute),
		})
	case payment.RefundEventData:
		return json.Marshal(refundEvent{
			RefundID: d.RefundID, PaymentID: d.PaymentID, OrderID: d.OrderID, Status: string(d.Status),
			Amount: d.Amount.Decimal(), Currency: string(d.Amount.Currency()),
		})
	case webhook.EventData:
		return json.Marshal(webhookEvent{EndpointID: d.EndpointID, SellerID: d.SellerID, Reason: string(d.Reason)})
	case payment.BalanceEventData:
		return json.Marshal(balanceEvent{
			CustomerID: d.CustomerID, EntryID: d.EntryID, Kind: string(d.Kind), Amount: d.Amount.Decimal(),
			BalanceAfter: d.BalanceAfter.Decimal(), Currency: string(d.Amount.Currency()),
		})
	}
	return nil, fmt.Errorf("data of type %T has no published shape", data)
}
